// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

func.func @negative_axis(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{needs a time axis from 0 to 63, found -1}}
  gf.recurrence sequences(%x : tensor<4x2xf32>) time_axis -1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @huge_axis(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{needs a time axis from 0 to 63, found 9223372036854775807}}
  gf.recurrence sequences(%x : tensor<4x2xf32>) time_axis 9223372036854775807 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @no_steps(%h: tensor<4xf32>) {
  // expected-error @+1 {{needs a sequence or a number of steps}}
  %l = gf.recurrence states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%s: tensor<4xf32>):
    gf.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @two_counts(%x: tensor<4x2xf32>, %t: index) {
  // expected-error @+1 {{has a number of steps beside its sequences}}
  gf.recurrence sequences(%x : tensor<4x2xf32>) steps(%t) time_axis 0 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @few_results(%x: tensor<4x2xf32>, %h: tensor<2xf32>) {
  // expected-error @+1 {{has 1 states, but 0 results}}
  "gf.recurrence"(%x, %h) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, time_axis = 0 : i64}> ({
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }) : (tensor<4x2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

func.func @no_time_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{sequence #0 has no time axis 1: 'tensor<4xf32>'}}
  gf.recurrence sequences(%x : tensor<4xf32>) time_axis 1 {
  ^step(%x_t: tensor<4xf32>):
  }
  return
}

// -----

func.func @different_times(%x: tensor<2x4xf32>, %z: tensor<2x5xf32>) {
  // expected-error @+1 {{the number of steps is 5 in sequence #1, but 4 in sequence #0}}
  gf.recurrence sequences(%x, %z : tensor<2x4xf32>, tensor<2x5xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>, %z_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @different_lead(%x: tensor<?x2x?xf32>, %h: tensor<?x3x8xf32>) {
  // expected-error @+1 {{leading dimension 1 is 3 in state #0, but 2 in sequence #0}}
  %l = gf.recurrence sequences(%x : tensor<?x2x?xf32>) states(%h : tensor<?x3x8xf32>) time_axis 2 {
  ^step(%x_t: tensor<?x2xf32>, %s: tensor<?x3x8xf32>):
    gf.yield %s : tensor<?x3x8xf32>
  }
  return
}

// -----

func.func @state_without_lead(%x: tensor<?x2x?xf32>, %h: tensor<8xf32>) {
  // expected-error @+1 {{state #0 needs 2 leading dimensions, found 'tensor<8xf32>'}}
  %l = gf.recurrence sequences(%x : tensor<?x2x?xf32>) states(%h : tensor<8xf32>) time_axis 2 {
  ^step(%x_t: tensor<?x2xf32>, %s: tensor<8xf32>):
    gf.yield %s : tensor<8xf32>
  }
  return
}

// -----

func.func @output_without_time(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{output #0 has no time axis 1: 'tensor<2xf32>'}}
  %y = gf.recurrence sequences(%x : tensor<2x4xf32>) time_axis 1 -> (tensor<2xf32>) {
  ^step(%x_t: tensor<2xf32>):
    gf.yield %x_t : tensor<2xf32>
  }
  return
}

// -----

func.func @output_of_other_time(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{the number of steps is 3 in output #0, but 4 in sequence #0}}
  %y = gf.recurrence sequences(%x : tensor<2x4xf32>) time_axis 1 -> (tensor<2x3xf32>) {
  ^step(%x_t: tensor<2xf32>):
    gf.yield %x_t : tensor<2xf32>
  }
  return
}

// -----

func.func @lengths_of_wrong_rank(%x: tensor<2x4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'lengths' needs rank 1, one for each index of the first leading dimension, found 'tensor<i64>'}}
  gf.recurrence sequences(%x : tensor<2x4xf32>) lengths(%n : tensor<i64>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @lengths_of_wrong_size(%x: tensor<2x4xf32>, %n: tensor<3xi64>) {
  // expected-error @+1 {{leading dimension 0 is 3 in 'lengths', but 2 in sequence #0}}
  gf.recurrence sequences(%x : tensor<2x4xf32>) lengths(%n : tensor<3xi64>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @lengths_of_floats(%x: tensor<2x4xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<2xf32>'}}
  gf.recurrence sequences(%x : tensor<2x4xf32>) lengths(%n : tensor<2xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @resets_of_wrong_rank(%x: tensor<2x4xf32>, %r: tensor<4xi1>) {
  // expected-error @+1 {{'resets' needs the leading dimensions and time, 2 dimensions, found 'tensor<4xi1>'}}
  gf.recurrence sequences(%x : tensor<2x4xf32>) resets(%r : tensor<4xi1>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @resets_of_wrong_size(%x: tensor<2x4xf32>, %r: tensor<2x5xi1>) {
  // expected-error @+1 {{the number of steps is 5 in 'resets', but 4 in sequence #0}}
  gf.recurrence sequences(%x : tensor<2x4xf32>) resets(%r : tensor<2x5xi1>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}

// -----

func.func @reset_states_alone(%x: tensor<2x4xf32>, %h: tensor<2xf32>) {
  // expected-error @+1 {{has reset states without resets}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2xf32>)
      reset_states(%h : tensor<2xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }
  return
}

// -----

func.func @few_reset_states(%x: tensor<2x4xf32>, %h: tensor<2xf32>, %r: tensor<2x4xi1>) {
  // expected-error @+1 {{has 0 reset states for 1 states}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2xf32>)
      resets(%r : tensor<2x4xi1>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }
  return
}

// -----

func.func @reset_state_type(%x: tensor<2x4xf32>, %h: tensor<2xf32>, %r: tensor<2x4xi1>, %h1: tensor<2xf64>) {
  // expected-error @+1 {{reset state #0 needs type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2xf32>)
      resets(%r : tensor<2x4xi1>) reset_states(%h1 : tensor<2xf64>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }
  return
}

// -----

func.func @final_type(%x: tensor<4x2xf32>, %h: tensor<2xf32>) {
  // expected-error @+1 {{final state #0 needs the type of its initial state, 'tensor<2xf32>', found 'tensor<?xf32>'}}
  %0 = "gf.recurrence"(%x, %h) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, time_axis = 0 : i64}> ({
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @few_arguments(%x: tensor<2x4xf32>, %h: tensor<2xf32>) {
  // expected-error @+1 {{the region needs one argument for each sequence and state, 2, found 1}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>):
    gf.yield %x_t : tensor<2xf32>
  }
  return
}

// -----

func.func @step_type(%x: tensor<2x4x5xf32>) {
  // expected-error @+1 {{the step of sequence #0 needs type 'tensor<2x5xf32>', found 'tensor<2x4xf32>'}}
  gf.recurrence sequences(%x : tensor<2x4x5xf32>) time_axis 1 {
  ^step(%x_t: tensor<2x4xf32>):
  }
  return
}

// -----

func.func @step_is_no_tensor(%x: tensor<4xf32>) {
  // expected-error @+1 {{the step of sequence #0 needs type 'tensor<f32>', found 'f32'}}
  gf.recurrence sequences(%x : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: f32):
  }
  return
}

// -----

func.func @state_argument_type(%x: tensor<2x4xf32>, %h: tensor<2x8xf32>) {
  // expected-error @+1 {{the argument of state #0 needs type 'tensor<2x8xf32>', found 'tensor<2x9xf32>'}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2x8xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf32>, %s: tensor<2x9xf32>):
    gf.yield %s : tensor<2x9xf32>
  }
  return
}

// -----

func.func @few_yields(%x: tensor<2x4xf32>, %h: tensor<2xf32>) {
  // expected-error @+1 {{yields 1 values for 1 outputs and 1 states}}
  %y, %l = gf.recurrence sequences(%x : tensor<2x4xf32>) states(%h : tensor<2xf32>)
      time_axis 1 -> (tensor<2x4xf32>) {
  ^step(%x_t: tensor<2xf32>, %s: tensor<2xf32>):
    gf.yield %s : tensor<2xf32>
  }
  return
}

// -----

func.func @output_type(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{the step of output #0 needs type 'tensor<2x3xf32>', found 'tensor<2xf32>'}}
  %y = gf.recurrence sequences(%x : tensor<2x4xf32>) time_axis 1 -> (tensor<2x4x3xf32>) {
  ^step(%x_t: tensor<2xf32>):
    gf.yield %x_t : tensor<2xf32>
  }
  return
}

// -----

func.func @next_type(%x: tensor<2x4xf64>, %h: tensor<2xf32>) {
  // expected-error @+1 {{the next of state #0 needs type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %l = gf.recurrence sequences(%x : tensor<2x4xf64>) states(%h : tensor<2xf32>) time_axis 1 {
  ^step(%x_t: tensor<2xf64>, %s: tensor<2xf32>):
    gf.yield %x_t : tensor<2xf64>
  }
  return
}

// -----

func.func @two_blocks(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects region #0 to have 0 or 1 blocks}}
  "gf.recurrence"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>, time_axis = 0 : i64}> ({
  ^step(%x_t: tensor<f32>):
    gf.yield
  ^other:
    gf.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @wrong_segments(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand count (1) does not match with the total size (2)}}
  "gf.recurrence"(%x) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, time_axis = 0 : i64}> ({
  ^step(%x_t: tensor<f32>):
    gf.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @spelled_twice(%x: tensor<4xf32>) {
  // expected-error @+1 {{'reverse' belongs in the header of the operation, not in its attributes}}
  gf.recurrence sequences(%x : tensor<4xf32>) time_axis 0 attributes {reverse} {
  ^step(%x_t: tensor<f32>):
  }
  return
}

// -----

func.func @yield_outside() {
  // expected-error @+1 {{expects parent op to be one of 'gf.recurrence, gf.attention'}}
  gf.yield
}

// -----

func.func @types_missing(%x: tensor<4xf32>) {
  // expected-error @+1 {{got 1 operands and 2 types}}
  gf.recurrence sequences(%x : tensor<4xf32>, tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<f32>):
  }
  return
}
