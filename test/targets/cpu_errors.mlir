// RUN: not tilewright-translate %S/Inputs/not_scheduled.mlir --to cpp 2>&1 | filecheck %s --check-prefix=SCHEDULE
// RUN: not tilewright-translate %S/Inputs/no_row.mlir --to cpp 2>&1 | filecheck %s --check-prefix=ROW
// RUN: not tilewright-translate %S/Inputs/group_without_lanes.mlir --to cpp 2>&1 | filecheck %s --check-prefix=GROUP

// SCHEDULE:      TW2102: cpu_openmp got kernel @k without explicit loops
// SCHEDULE-NEXT:   where: loc("m.py":2:0)
// SCHEDULE-NEXT:   why:   only a `tk.func ... scheduled` says in which order to compute
// SCHEDULE-NEXT:   fix:   run schedule-cpu and apply-schedule first

// ROW:      TW2101: cpu_openmp cannot lower `math.ctpop`
// ROW-NEXT:   where: loc("m.py":3:0)
// ROW-NEXT:   why:   it has no row in the table of C++ expressions
// ROW-NEXT:   fix:   run the CPU pipeline first

// GROUP:      TW2101: cpu_openmp cannot lower `tk.store`
// GROUP-NEXT:   where: loc("m.py":4:0)
// GROUP-NEXT:   why:   groups of neighbours are loaded, not stored
