// RUN: not tilewright-translate %S/Inputs/not_scheduled.mlir --to triton 2>&1 | filecheck %s --check-prefix=BLOCKS
// RUN: not tilewright-translate %S/Inputs/no_row.mlir --to triton 2>&1 | filecheck %s --check-prefix=ROW
// RUN: not tilewright-translate %S/Inputs/group_without_lanes.mlir --to triton 2>&1 | filecheck %s --check-prefix=GROUP

// BLOCKS:      TW2202: gpu_triton got kernel @k without explicit loops
// BLOCKS-NEXT:   where: loc("m.py":2:0)
// BLOCKS-NEXT:   why:   only a `tk.func ... scheduled` on tiles says what one program computes
// BLOCKS-NEXT:   fix:   run flatten-axes, schedule-gpu and apply-schedule first

// ROW:      TW2201: gpu_triton cannot lower `math.ctpop`
// ROW-NEXT:   where: loc("m.py":3:0)
// ROW-NEXT:   why:   it has no row in the table of Triton expressions
// ROW-NEXT:   fix:   run the GPU pipeline first (--pipeline=gpu), or add a row to targets/gpu_triton/rules.py
// ROW-NEXT:   ir:    %0 = math.ctpop %1 : i32

// GROUP:      TW2201: gpu_triton cannot lower `tk.load`
// GROUP-NEXT:   where: loc("m.py":3:0)
// GROUP-NEXT:   why:   groups are of lanes, each of which has 2, 4, ... neighbours
