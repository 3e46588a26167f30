// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

// expected-error @+1 {{'gf.entry' takes no value}}
func.func private @entry_value() attributes {gf.entry = 1}

// -----

// expected-error @+1 {{'gf.dimensions' needs an array of names, found "B"}}
func.func private @dimensions_no_array() attributes {gf.dimensions = "B"}

// -----

// expected-error @+1 {{'gf.dimensions' needs names, found 1 : i64}}
func.func private @dimensions_no_names() attributes {gf.dimensions = [1]}

// -----

// expected-error @+1 {{'gf.dimensions' needs names, found ""}}
func.func private @dimensions_empty_name() attributes {gf.dimensions = [""]}

// -----

// expected-error @+1 {{'gf.dimensions' has "B" twice}}
func.func private @dimensions_twice() attributes {gf.dimensions = ["B", "T", "B"]}

// -----

// expected-error @+1 {{'gf.equal' needs an array of maps, found unit}}
func.func private @equal_no_array() attributes {gf.equal}

// -----

// expected-error @+1 {{'gf.equal' needs an affine map, found 1 : i64}}
func.func private @equal_no_map() attributes {gf.equal = [1], gf.equal_messages = ["m"]}

// -----

// expected-error @+1 {{the map of 'gf.equal' needs 2 results, found 1}}
func.func private @equal_one_size() attributes {gf.dimensions = ["B"], gf.equal = [affine_map<()[s0] -> (s0)>], gf.equal_messages = ["m"]}

// -----

// expected-error @+1 {{the map of 'gf.equal' needs no dimensions and one symbol for each of the 1 names in 'gf.dimensions'}}
func.func private @equal_symbols() attributes {gf.dimensions = ["B"], gf.equal = [affine_map<()[s0, s1] -> (s0, s1)>], gf.equal_messages = ["m"]}

// -----

// expected-error @+1 {{'gf.equal' has 1 maps, 'gf.equal_messages' has 0 messages}}
func.func private @equal_without_message() attributes {gf.dimensions = ["B"], gf.equal = [affine_map<()[s0] -> (s0, 2)>]}

// -----

// expected-error @+1 {{'gf.equal_messages' needs an array of strings, found [1]}}
func.func private @messages_no_strings() attributes {gf.dimensions = ["B"], gf.equal = [affine_map<()[s0] -> (s0, 2)>], gf.equal_messages = [1]}

// -----

// expected-error @+1 {{'gf.equal_messages' needs 'gf.equal' beside it}}
func.func private @messages_alone() attributes {gf.equal_messages = ["m"]}

// -----

// expected-error @+1 {{'gf.name' belongs on an argument or result of a function}}
func.func private @name_on_function() attributes {gf.name = "x"}

// -----

// expected-error @+1 {{argument #0: 'gf.entry' belongs on the function}}
func.func private @entry_on_argument(tensor<?x8xf32> {gf.entry}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.name' needs a name, found 1 : i64}}
func.func private @name_no_string(tensor<?x8xf32> {gf.name = 1}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.name' needs a name, found ""}}
func.func private @name_empty(tensor<?x8xf32> {gf.name = ""}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.shape' needs an affine map, found 1 : i64}}
func.func private @shape_no_map(tensor<?x8xf32> {gf.shape = 1}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: the map of 'gf.shape' needs no dimensions and one symbol for each of the 1 names in 'gf.dimensions'}}
func.func private @shape_symbols(tensor<?x8xf32> {gf.shape = affine_map<()[s0, s1] -> (s0, 8)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: the map of 'gf.shape' needs no dimensions}}
func.func private @shape_dimensions(tensor<?x8xf32> {gf.shape = affine_map<(d0)[s0] -> (s0, 8)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: the map of 'gf.shape' needs 2 results, found 1}}
func.func private @shape_rank(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.shape' gives dimension 1 the size 9, its type has 8}}
func.func private @shape_size(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 9)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.shape' gives a negative size, -1}}
func.func private @shape_negative(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (-1, 8)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #0: the map of 'gf.shape' needs 2 results, found 0}}
func.func private @result_shape_rank() -> (tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> ()>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: the map of 'gf.shape' needs 0 results, found 1}}
func.func private @shape_of_number(f32 {gf.shape = affine_map<()[s0] -> (s0)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.below' bounds integers, found 'tensor<?x8xf32>'}}
func.func private @below_of_floats(tensor<?x8xf32> {gf.below = affine_map<()[s0] -> (5)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.below' bounds integers, found 'tensor<4xi1>'}}
func.func private @below_of_booleans(tensor<4xi1> {gf.below = affine_map<()[s0] -> (5)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: the map of 'gf.below' needs 1 result, found 2}}
func.func private @below_results(tensor<4xi64> {gf.below = affine_map<()[s0] -> (5, s0)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.at_most' bounds integers, found 'tensor<4xf32>'}}
func.func private @at_most_of_floats(tensor<4xf32> {gf.at_most = affine_map<()[s0] -> (s0)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.at_most' gives a negative size, -2}}
func.func private @at_most_negative(tensor<4xi32> {gf.at_most = affine_map<()[s0] -> (-2)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #0: 'gf.below' belongs on an argument}}
func.func private @below_on_result() -> (tensor<4xi32> {gf.below = affine_map<()[s0] -> (5)>}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #0: 'gf.initial' belongs on an argument}}
func.func private @initial_on_result() -> (tensor<?x8xf32> {gf.initial = 0.0 : f32}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.initial' needs 'gf.state' or 'gf.parameter' beside it}}
func.func private @initial_alone(tensor<?x8xf32> {gf.initial = 0.0 : f32}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.initial' needs a number of type 'f32', found 0.000000e+00 : f64}}
func.func private @initial_type(tensor<?x8xf32> {gf.initial = 0.0 : f64, gf.name = "h", gf.state}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.initial' needs a number, found "zero"}}
func.func private @initial_no_number(tensor<?x8xf32> {gf.initial = "zero", gf.parameter}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.state' takes no value}}
func.func private @state_value(tensor<?x8xf32> {gf.name = "h", gf.state = true}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: 'gf.state' needs 'gf.name' beside it}}
func.func private @state_without_name(tensor<?x8xf32> {gf.state}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: is both 'gf.state' and 'gf.parameter'}}
func.func private @state_and_parameter(tensor<?x8xf32> {gf.name = "h", gf.state, gf.parameter}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #0: 'gf.parameter' belongs on an argument}}
func.func private @parameter_on_result() -> (tensor<?x8xf32> {gf.parameter}) attributes {gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #1: the name "x" is taken}}
func.func private @same_names(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "x"}, tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "x"}) attributes {gf.entry, gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #1: the name "x" is taken}}
func.func private @same_result_names() -> (tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "x"}, tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "x"}) attributes {gf.entry, gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: state "h" has no result of its name}}
func.func private @state_without_result(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "h", gf.state}) attributes {gf.entry, gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{result #0: state "h" has no argument of its name}}
func.func private @state_without_argument() -> (tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "h", gf.state}) attributes {gf.entry, gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #0: state "h" has type 'tensor<?x8xf32>', its partner 'tensor<4x8xf32>'}}
func.func private @state_types(tensor<?x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "h", gf.state}) -> (tensor<4x8xf32> {gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.name = "h", gf.state}) attributes {gf.entry, gf.dimensions = ["B"]}

// -----

// expected-error @+1 {{argument #2: the name "w" is taken}}
func.func private @same_parameters(tensor<?x8xf32> {gf.name = "w"}, tensor<?x8xf32> {gf.name = "w", gf.parameter}, tensor<?x8xf32> {gf.name = "w", gf.parameter}) attributes {gf.entry}

// -----

func.func @one_parameter_twice() attributes {gf.entry} {
  // expected-note @+1 {{here}}
  %0 = gf.parameter "w" : tensor<4xf32>
  %1 = gf.parameter "w" : tensor<4xf32>
  // expected-error @+1 {{'w' has another type or initial value elsewhere}}
  %2 = gf.parameter "w" : tensor<5xf32>
  return
}

// -----

// expected-error @+1 {{'gf.dimensions' belongs on a function}}
module attributes {gf.dimensions = ["B"]} {
}

// -----

func.func @attribute_of_an_operation() {
  // expected-error @+1 {{'gf.entry' belongs on a function}}
  %0 = arith.constant {gf.entry} 1 : index
  return
}

// -----

// expected-error @+1 {{argument #0: 'gf.shape' divides by less than 1, found affine_map<()[s0] -> (s0 floordiv 0)>}}
func.func @divided_by_0(%x: tensor<?xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0 floordiv 0)>})
    attributes {gf.dimensions = ["B"]} {
  return
}

// -----

// expected-error @+1 {{argument #0: 'gf.at_most' divides by less than 1}}
func.func @modulo_of_a_negative(%n: tensor<?xi64> {gf.name = "n", gf.at_most = affine_map<()[s0] -> (s0 + s0 mod -2)>})
    attributes {gf.dimensions = ["B"]} {
  return
}
