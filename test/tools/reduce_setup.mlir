// What is wrong with @main is reduced, not what only tilewright-opt's passes meet: @setup.
// RUN: tilewright reduce %s -p hoist-frozen,refuse-setup,add-as-mul --load %S/Inputs/setup_refused.py --load %S/Inputs/add_as_mul.py 2>&1 | filecheck %s
// RUN: tilewright bisect %s -p hoist-frozen,refuse-setup,add-as-mul --load %S/Inputs/setup_refused.py --load %S/Inputs/add_as_mul.py | filecheck %s --check-prefix=BISECT

// Where nothing else fails, that is reduced.
// RUN: tilewright reduce %s -p hoist-frozen,refuse-setup --load %S/Inputs/setup_refused.py 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: tilewright bisect %s -p hoist-frozen,refuse-setup --load %S/Inputs/setup_refused.py | filecheck %s --check-prefix=BISECT-WHOLE

// CHECK: reducing: TW3921: pass 3 `add-as-mul` changed what @main computes
// CHECK: func.func @main
// CHECK: tw.add

// BISECT: pass 3 `add-as-mul` leaves a bad module
// BISECT-NEXT: it makes no counted rewrites: the change as a whole

// WHOLE: reducing: TW3910: pass 2 `refuse-setup` failed
// WHOLE: tw.frozen

// BISECT-WHOLE: pass 2 `refuse-setup` fails
func.func @main(%x: tensor<3xf32>, %w: tensor<3xf32> {tw.frozen}) -> tensor<3xf32> {
  %0 = tw.exp %w : tensor<3xf32>
  %1 = tw.add %x, %0 : tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
