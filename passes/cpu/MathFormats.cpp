// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathFormats.cpp - Numbers for functions in f32 and f64 -------------===//
//
// Coefficients are minimax by Remez' exchange (E. Remez, 1934) in 40 to 60
// digits: from the roots of a Chebyshev polynomial on, the error is made equal
// at as many points as there are coefficients and one more, and the points move
// to where it is largest. The weight makes the error relative to the function;
// the coefficients are then rounded to the format. What that leaves as an error
// is given for each. Errors in f32 were counted over all 2^32 arguments.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "passes/cpu/MathBuilders.h"

using namespace mlir;
using namespace gatefold;

// f32

/// 3e-9
static constexpr double exponential32[] = {1,
                                           1,
                                           0x1.fffffcp-2,
                                           0x1.55548cp-3,
                                           0x1.555858p-5,
                                           0x1.123da6p-7,
                                           0x1.6ac144p-10};
static constexpr double exponentialTail32[] = {
    0.5,           0x1.555554p-3,  0x1.5554bp-5,
    0x1.11118ap-7, 0x1.6d723ep-10, 0x1.a032c2p-13};
static constexpr double tanhTail32[] = {-0x1.55554ep-2, 0x1.110594p-3,
                                        -0x1.afd7fcp-5};
static constexpr double erfTail32[] = {
    0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2ce6p-4, -0x1.b7f71ap-6,
    0x1.53f224p-8, -0x1.a3515ep-11, 0x1.4771fep-14};
static constexpr double erfcLogarithm32[] = {-0x1.20e412p+0, -0x1.458bbp-1,
                                             -0x1.ae8e6cp-4, 0x1.758816p-6,
                                             -0x1.a1b932p-9, 0x1.b9c248p-13};

// f64

/// 7e-19, of the tail; so few that exp and exp(r) - 1 share them.
static constexpr double exponential64[] = {1,
                                           1,
                                           0x1.0000000000000p-1,
                                           0x1.555555555555bp-3,
                                           0x1.5555555555503p-5,
                                           0x1.111111110ec64p-7,
                                           0x1.6c16c16c30413p-10,
                                           0x1.a01a01b37b93ap-13,
                                           0x1.a01a0136a48eap-16,
                                           0x1.71ddf0277a429p-19,
                                           0x1.27e5b42fc4520p-22,
                                           0x1.af6bdc15f3b87p-26,
                                           0x1.1e3d366912576p-29};
/// 4e-19
static constexpr double tanhTail64[] = {
    -0x1.5555555555555p-2, 0x1.1111111110d1dp-3,  -0x1.ba1ba1b8fef7bp-5,
    0x1.664f4752f8b46p-6,  -0x1.226d87d709accp-7, 0x1.d666aa2bf21fcp-9,
    -0x1.6bc343309d9adp-10};
/// 1.2e-17
static constexpr double erfTail64[] = {
    0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b20p-4,
    -0x1.b82ce3128499fp-6,  0x1.565bcd0db0351p-8,   -0x1.c02db3d8ee55ep-11,
    0x1.f9a321a13ff56p-14,  -0x1.f4d1df3bcfc2dp-17, 0x1.b9def1bda8f10p-20,
    -0x1.5f1d37c9fba8fp-23, 0x1.f7a41d09c8217p-27,  -0x1.386ae19cf1136p-30,
    0x1.057a0196ffdf9p-34};
/// 1.6e-17 of erf: the points start nearer to 1, since erfc falls so fast.
static constexpr double erfcLogarithm64[] = {
    -0x1.20dd750345f45p+0,  -0x1.45f304649fe6fp-1,  -0x1.a4f5b2e58749ap-4,
    0x1.397674401ef22p-6,   0x1.9e73e6b13c5a7p-13,  -0x1.b6334c2698c81p-10,
    0x1.21089aafd9fcfp-11,  0x1.64bcbcf66abbfp-16,  -0x1.caecd438c56f9p-14,
    0x1.0b00d4fe0a35ep-14,  -0x1.8d4967031b0eap-16, 0x1.b723a9df1a220p-18,
    -0x1.76fa2116cf947p-20, 0x1.f103aedd8fd6bp-23,  -0x1.f7ebe2207ce7fp-26,
    0x1.7a47e910d03b5p-29,  -0x1.8c505a6b3705fp-33, 0x1.0281b9686aeecp-37,
    -0x1.3bd1ca77dbeaap-43};

const FloatFormat &FloatFormat::of(Type type) {
  static const FloatFormat single = {/*fractionBits=*/23,
                                     /*exponentBias=*/127,
                                     /*rounder=*/0x1.8p23,
                                     /*leastNormal=*/0x1p-126,
                                     /*nextToOne=*/0x1.fffffep-1,
                                     /*rootBits=*/0x3f3504f3,
                                     /*log2e=*/0x1.715476p+0,
                                     /*ln2High=*/0x1.62e4p-1,
                                     /*ln2Low=*/0x1.7f7d1cp-20,
                                     /*leastPower=*/-0x1.5d589ep+6,
                                     /*largestPower=*/0x1.62e42ep+6,
                                     exponential32,
                                     exponentialTail32,
                                     /*expm1Least=*/-18,
                                     /*expm1Most=*/89,
                                     /*sigmoidLeast=*/-88.7,
                                     /*sigmoidMost=*/88,
                                     /*tanhMost=*/9.02,
                                     /*erfMost=*/4,
                                     tanhTail32,
                                     erfTail32,
                                     erfcLogarithm32};
  static const FloatFormat twice = {/*fractionBits=*/52,
                                    /*exponentBias=*/1023,
                                    /*rounder=*/0x1.8p52,
                                    /*leastNormal=*/0x1p-1022,
                                    /*nextToOne=*/0x1.fffffffffffffp-1,
                                    /*rootBits=*/0x3fe6a09e667f3bcd,
                                    /*log2e=*/0x1.71547652b82fep+0,
                                    /*ln2High=*/0x1.62e42fefa38p-1,
                                    /*ln2Low=*/0x1.ef35793c7673p-45,
                                    /*leastPower=*/-0x1.6232bdd7abcd2p+9,
                                    /*largestPower=*/0x1.62e42fefa39efp+9,
                                    exponential64,
                                    ArrayRef(exponential64).drop_front(2),
                                    /*expm1Least=*/-38,
                                    /*expm1Most=*/710,
                                    /*sigmoidLeast=*/-709.5,
                                    /*sigmoidMost=*/709,
                                    /*tanhMost=*/19.1,
                                    /*erfMost=*/6,
                                    tanhTail64,
                                    erfTail64,
                                    erfcLogarithm64};
  return getElementTypeOrSelf(type).isF64() ? twice : single;
}
