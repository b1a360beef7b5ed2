// SPDX-License-Identifier: MIT
// Keep alphabetical.
#ifndef TEGULA_SIMPLIFY_PASSES
#define TEGULA_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def Base2Exponentials : Pass<"base2-exponentials"> {
  let summary = "f32 exponentials and logarithms in base 2";
  let description = [{
    `exp(x)` becomes `exp2(x * log2e)` and `log(x)` becomes `log2(x) * ln2`: machines compute base 2.

    The factor is not folded into what x is made of. In `exp(s * scale - lse)` the difference is small where the result
    matters, so multiplying it last costs one multiplication per element and keeps twice the accuracy of
    `exp2(s * (scale * log2e) - lse * log2e)`. A target on which that multiplication shows folds it itself.

    Rounding: changes, by one f32 multiplication.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def DecomposeSoftmax : Pass<"decompose-softmax"> {
  let summary = "the online softmax in elementary operations";
  let description = [{
    Replaces `tile.softmax_update`, `tile.softmax_output` and `tile.softmax_lse` by arithmetic, reductions and a dot.
    Probabilities stay f32 and are `exp2((s - m) * log2e)`: the largest of a row is exactly 1, and so is the factor by
    which a row is rescaled when its maximum stays.

    A row that has seen no key has m = -inf; its exponents are taken relative to 0, so that every probability is
    exp2(-inf) = 0 and no NaN appears. Such a row gives output 0 and log-sum-exp -inf.

    For targets that gain nothing from knowing the online softmax as a whole.

    With `round-probabilities`, for machines whose products of 16-bit numbers are much faster: where the values have 16
    bits, the probabilities are rounded to their type before the product (their sums are not). A row keeps its maximum until it has
    grown by more than 2^8, so that the sum and the output are hardly ever rescaled; that is under a `tile.any`. Whether a score has
    grown so much is asked of the largest as integers, as long as the limit is not negative: sm_90 finds the largest of three
    integers in one instruction, and of two floats. Scores to which something is added or from which it is subtracted, whose rows may be
    negative as a whole, are compared as floats. An
    output that is rounded, too, is multiplied by an approximate reciprocal of the sum (`afn`).
    Probabilities of bf16 are `exp2(fma(s, log2e, -(m * log2e)))`: one instruction less per element, for an error of one f32 rounding
    of m, which that type hides. Where such scores are products with a scalar, masked or not, the multiplication moves into the
    multiply-add, and only its sign is applied to the scores. f16 hides such errors only of maxima up to 512: in modules with
    `tile.roles = "load"` a `tile.any` asks for larger ones, and in their rows `s` becomes `s * scale - m` before the multiply-add that all
    rows have. In other modules, whose warps have no registers for that, exponents are always `(s * scale - m) * log2e`.

    In modules with `tile.optimistic_softmax` and of 16-bit values, where the scores of a loop's iteration come out of one product by arithmetic and loads,
    exponentials come first, relative to the maxima before: nobody looks for a larger score. Under a `tile.any` that asks whether a
    row's sum is far too large (or no number), each warp computes the product of its rows once more (`tile.warp_local`), from a position
    that is opaque (`sm.opaque`), and then maxima and exponentials in the usual order, as the first iteration does. First attempts are fused in
    both types, and what scores have added to their product, such as a bias, goes into the exponents as a second multiply-add; f16
    rows with maxima beyond 512 fail there, and their second attempt is not fused. Where special functions lie between the product
    and an edge's branch (`tile.fast_path`), both sides of it compute scores and exponentials, since the assembler interleaves nothing across
    a branch. Else, and for 32-bit values, a remark says so.
  }];
  let options = [Option<"roundProbabilities", "round-probabilities", "bool", "false",
                        "probabilities have the element type of 16-bit values">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::tegula::sm::SmDialect",
                           "::tegula::tile::TileDialect"];
}

def EdgeMasks : Pass<"edge-masks"> {
  let summary = "masks are computed only where they hide something";
  let description = [{
    The mask of a causal block, a window or a last block of keys is true everywhere in most tiles, and a few scalar
    compares tell: positions grow by constants along rows and columns, so a compare of two of them holds for all elements if
    it holds in one corner.

    ```mlir
    %allowed = arith.cmpi sle, %keys, %queries : tensor<128x64xi32>
    %masked = arith.select %allowed, %s, %minus_infinity : tensor<128x64xi1>, tensor<128x64xf32>
    ```

    becomes

    ```mlir
    %masked = scf.if %last_key_of_the_tile_is_at_most_its_first_query -> tensor<128x64xf32> {
      scf.yield %s : tensor<128x64xf32>
    } else {
      (%allowed and %masked as before)
    } {tile.fast_path}
    ```

    Where a conjunct is the `or` of a tile and a scalar, one that holds for the whole tile by what its author knows, the scalar
    is tested and the tile computed in the other branch, with what it gathers from tensors that the program only reads.

    Lower limits of columns, as windows have, upper ones and scalars are met at different tiles: there, each has a branch
    of its own, so that the edge of a window costs what the diagonal does. Where a scalar is false its tile is not asked
    again whether it is true: that branch is no shortcut.

    Other conjuncts of the mask remain on both sides. Tiles of fewer than 256 elements stay as they
    are. Rounding: none, results are the same in every bit.

    After canonicalisation. The conditions' loop-invariant parts are summed first, and left to hoisting.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::tile::TileDialect"];
}

def LimitRows : Pass<"limit-rows", "::mlir::ModuleOp"> {
  let summary = "says which columns the first rows of a tile still see";
  let description = [{
    For modules with `tile.roles = "load"`, whose warps hold rows of their own and do not wait for each other. The bound of a
    loop that is one online softmax becomes a `sm.row_limit` where the mask of its scores hides from each row the columns
    behind a diagonal: what is hidden as a whole leaves the row's state as it is.

    Before edges of masks become branches.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
}

def FuseMultiplyAdds : Pass<"fuse-multiply-adds", "::mlir::func::FuncOp"> {
  let summary = "products and the sums they belong to in one multiply-add per element";
  let description = [{
    `exp(a - b)`, where b is a broadcast of a smaller tile, becomes `exp2(fma(a, log2e, -b * log2e))`. Where a is `x * c`
    with a scalar c, that is `exp2(fma(x, c * log2e, -b * log2e))`. A select around it that puts -inf where an element is
    masked goes outside of the multiply-add, because the sign of c is not known; it gives exp(-inf) = 0 whatever b is.

    Before, factors and divisors that are the same for all elements of an f32 tile become one factor, a scalar, so that a
    division costs no more than a multiplication: `x * c / d` becomes `x * (c * (1 / d))`. That is
    as accurate unless the factor leaves the range of f32: a divisor below 2^-126 gives infinities, and NaN for x = 0.
    In functions all of whose dots are of 16-bit numbers.

    Then sums and differences of f32 tiles, one side of which is a product that nothing else needs: `x * y - z` becomes
    `fma(x, y, -z)`.

    The multiply-adds only in functions all of whose dots are of bf16 numbers. One does not round x * c as the pass did that
    computed b from the same scores, and rounds c * log2e and b * log2e instead: the result is off by some 3 |b| 2^-24,
    2^-7 for scores of 50,000. bf16, itself rounded by 2^-8, nearly hides that; f16 gradients show it, most of all where one
    key has all of a row's probability or the row's gradients sum to 0. Infinite a, b and x give what they gave.

    Before `base2-exponentials`, and before `edge-masks`, which wants the selects.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::tile::TileDialect"];
}

def GuardDivision : Pass<"guard-division"> {
  let summary = "integer division that cannot trap";
  let description = [{
    In this language x / 0 and x % 0 are 0, and the smallest integer divided by -1 wraps around; a machine may trap on
    either and kill the host. An unsafe divisor is replaced by 1, and the result of a division by 0 by 0. Divisions by
    constants that are safe stay as they are.

    Price: two or three compares and two selects per division, which costs far more itself.

    Before anything that expands or vectorises divisions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def HoistGathers : Pass<"hoist-gathers"> {
  let summary = "what a loop gathers from the same places each time is gathered before it";
  let description = [{
    A `tile.gather` of at most 512 elements from a tensor that the function does not write, together with the positions
    that it depends on. It reads nothing outside of its tensor, so that a loop without iterations does no harm.

    For the rows of a block of queries: slopes, bounds of ranges. The values stay in registers for the whole loop.
  }];
}

def LinearPositions : Pass<"linear-positions"> {
  let summary = "floating-point numbers made of positions are counted up, not converted one by one";
  let description = [{
    GPUs convert between integers and f32 at an eighth of the speed at which they add, as slowly as they compute exponentials.
    The conversion of an integer tile that grows by a constant along its dimensions, or of its magnitude, becomes one of
    its first element, and an addition for each further one:

    ```mlir
    %distance = arith.subi %queries, %keys : tensor<128x64xi32>
    %magnitude = math.absi %distance : tensor<128x64xi32>
    %0 = arith.sitofp %magnitude : tensor<128x64xi32> to tensor<128x64xf32>
    ```

    becomes

    ```mlir
    %1 = sm.linear %first [1, -1] : tensor<128x64xf32>
    %0 = math.absf %1 : tensor<128x64xf32>
    ```

    Exact up to 2^24, as the conversion is. Beyond, where that rounds, the addition rounds once more.

    A compare of tiles that grow along several dimensions, as the mask of a diagonal does, becomes one of such numbers
    with 0: a compare of one register with a constant for each distance, instead of two positions and a compare for each
    element. In modules with `tile.roles = "load"` so does one along one dimension, such as the mask of the last keys: the
    assembler would keep what a loop does not change of the positions, in 31 registers for 128 keys. Elsewhere loads have them anyway.

    After `edge-masks`, which wants to see the positions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::sm::SmDialect"];
}

def LoadAffineGathers : Pass<"load-affine-gathers"> {
  let summary = "gathers of whole boxes are loads";
  let description = [{
    Where index number d of a gather counts 1, 2, 3, ... along dimension d and changes along no other, the gather reads a box of
    the view, whose first element is known from scalars: a `tile.load`, which other passes can copy ahead. An additive
    bias is such a gather.

    ```mlir
    %b = tile.gather %bias[%rows, %keys] : !tile.view<2xbf16>, tensor<64x32xi32>, tensor<64x32xi32> -> tensor<64x32xbf16>
    ```

    becomes

    ```mlir
    %b = tile.load %bias[%row, %key] : !tile.view<2xbf16> -> tensor<64x32xbf16>
    ```

    After canonicalisation. Rounding: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::tile::TileDialect"];
}

def ReciprocalDivisors : Pass<"reciprocal-divisors"> {
  let summary = "divisions in loops by numbers that stay the same are multiplications";
  let description = [{
    A GPU divides 32-bit numbers by some 25 instructions, each of which waits for the one before. Where a divisor is known
    before a loop, so is its reciprocal: what is left in the loop is a multiplication of 64 bits, a correction by at most
    1, and signs. Results are those that `guard-division` defines, x / 0 = x % 0 = 0 among them.

    ```mlir
    %block = arith.divsi %number, %heads : i32
    ```

    becomes, for numbers that are not negative,

    ```mlir
    %quotient = (%number * %reciprocal) >> 32
    %rest = arith.subi %number, (%quotient * %heads)
    %block = arith.addi %quotient, (%rest >= %heads)
    ```

    with `%reciprocal = (2^32 - 1) / %heads` before the loop.

    For programs whose instances work in turns: a turn begins with such divisions. Before `guard-division`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
