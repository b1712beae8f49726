"""The report: one static HTML page per compile, from the user's line to the kernel and its time.

`session` listens to a compile, `stages` keeps the IR after each pass, `plan` and `work` read the final
plan and what its kernels must do, `measure` times them, `layout` places the graph, `render` writes the page.
"""
