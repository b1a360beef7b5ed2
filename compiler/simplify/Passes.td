// SPDX-License-Identifier: MIT
// Keep alphabetical.
#ifndef TEGULA_SIMPLIFY_PASSES
#define TEGULA_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def Base2Exponentials : Pass<"base2-exponentials"> {
  let summary = "replaces f32 exponentials and logarithms by exp2 and log2";
  let description = [{
    `exp(x)` becomes `exp2(x * log2e)`, and `log(x)` becomes `log2(x) * ln2`, because machines compute base 2.

    The factor is applied last and is not folded into x. In `exp(s * scale - lse)` the difference is small where the
    result matters. Multiplying it last costs one multiplication per element, and is twice as accurate as
    `exp2(s * (scale * log2e) - lse * log2e)`. On GPUs, `fuse-multiply-adds` folds it into bf16 exponents.

    Rounding: one more f32 multiplication.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def BlockRandom : Pass<"block-random"> {
  let summary = "finds random numbers of blocks, whose threads share calls of the generator";
  let description = [{
    A call of Philox makes four words, which serve up to 16 elements of `tile.random`. If the rows and columns of a
    matrix count up from multiples of 16, the elements of a call lie in known registers and threads. The op then becomes
    `sm.random`, which keeps only the first row and column. If rows lie along dimension 1, a transpose follows.

    ```mlir
    %x = tile.random %seed, %offset, %stream at %rows, %keys bits 8 rounds 10 : tensor<64x128xi32>
    ```

    becomes

    ```mlir
    %x = sm.random %seed, %offset, %stream at %row, %key bits 8 rounds 10 : tensor<64x128xi32>
    ```

    Other tiles keep `tile.random`, which makes a call for each element, and get a remark.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect", "::tegula::tile::TileDialect"];
}

def DecomposeSoftmax : Pass<"decompose-softmax"> {
  let summary = "replaces the online softmax by elementary operations";
  let description = [{
    Replaces `tile.softmax_update`, `tile.softmax_output` and `tile.softmax_lse` by arithmetic, reductions and a dot.

    Without options, probabilities stay f32 and are `exp2((s - m) * log2e)`. The largest probability of a row is exactly
    1, and so is the factor by which a row is rescaled if its maximum stays. A row that has seen no key has m = -inf.
    Its exponents are relative to 0, so that every probability is exp2(-inf) = 0 and no NaN appears. Such a row gives
    output 0 and log-sum-exp -inf. This form is for targets that gain nothing from knowing the online softmax as a
    whole.

    The option `round-probabilities` is for targets on which MMAs of 16-bit values are much faster. It applies if V has
    16 bits:

    - P is rounded to the type of V before the dot. The row sums add the unrounded probabilities.
    - A row keeps its maximum until it has grown by more than 2^8 (conditional rescaling). The sum and the output are
      therefore rarely rescaled, under a `tile.any`.
    - The test for such growth compares the largest scores as integers, as long as the limit is not negative. sm_90
      finds the largest of three integers in one instruction, but only of two floats. Scores that end in an addition or
      subtraction are compared as floats, because all scores of a row may be negative.
    - An output that is rounded, too, is multiplied by an approximate reciprocal of the sum (`afn`).
    - P is `exp2(fma(s, log2e, -(m * log2e)))` in bf16, and in f16 in modules with `tile.roles = "load"`. In others,
      warps have no registers for two forms of f16 exponents. If the scores end in a multiplication by a scalar, masked
      or not, it moves into the multiply-add, and only the scalar's sign is applied to the scores.
    - The fused form rounds m log2(e), but not s log2(e). Rounding P hides the error up to abs(m) of 8192 (bf16) or 512
      (f16). If a maximum is farther from 0, a `tile.any` replaces the scores of the warp by `(s * scale - m) / scale`,
      and m by 0. The same multiply-add is then right for all finite scores.

    With `tile.optimistic_softmax`, the softmax is optimistic if V has 16 bits and the scores of an iteration come from
    one dot through arithmetic and loads:

    - Exponentials are relative to the maxima of the keys before, without a search for larger scores. In the first
      iteration, and if a row has seen no key or its maximum is beyond the limits above, the maximum comes first, as
      usual.
    - A `tile.any` tests if a row's sum is far too large or NaN. If so, each warp computes its rows of the dot again
      (`tile.warp_local`), from an opaque position (`sm.opaque`). Maxima and exponentials then follow in the usual
      order.
    - The optimistic path is fused for both types. A term that is added to the dot, such as a bias, becomes part of the
      exponents as a second multiply-add.
    - If special functions lie between the dot and the branch of a mask boundary (`tile.fast_path`), scores and
      exponentials are copied into both sides of the branch, because ptxas does not interleave instructions across a
      branch.

    In all other cases, `tile.optimistic_softmax` has no effect, and a remark says why.
  }];
  let options = [Option<"roundProbabilities", "round-probabilities", "bool", "false",
                        "probabilities have the element type of 16-bit values">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::tegula::sm::SmDialect",
                           "::tegula::tile::TileDialect"];
}

def BoundaryMasks : Pass<"boundary-masks"> {
  let summary = "computes a mask only in tiles that the mask boundary crosses";
  let description = [{
    The mask of a causal block, a window or a last block of keys is true everywhere in most tiles. A few scalar compares
    show that: positions grow by constants along rows and columns, so a compare of two positions is true for all
    elements if it is true in one corner.

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

    If a conjunct is the `or` of a tile and a scalar, the scalar is tested. With it, the program's author says that the
    conjunct is true for the whole tile. The tile is computed only in the other branch, together with its gathers from
    tensors that the program only reads.

    Lower limits of columns, upper limits and scalars are false at different tiles. Each of the three therefore has its
    own branch on the else side, so that the lower edge of a window costs no more than the diagonal. Where a scalar is
    false, its tile is computed without it. That branch is no `tile.fast_path`, because its else side is wrong if the
    scalar is true.

    Other conjuncts of the mask stay on both sides. Tiles with fewer than 256 elements stay as they are. Rounding: none,
    results are the same in every bit.

    Runs after canonicalisation. Loop-invariant parts of the conditions are summed first, so that they can be hoisted.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tegula::tile::TileDialect"];
}

def LimitRows : Pass<"limit-rows", "::mlir::ModuleOp"> {
  let summary = "records which columns the first rows of a tile still see";
  let description = [{
    Applies to modules with `tile.roles = "load"`, whose warps hold their own rows and do not wait for each other. The
    loop must be exactly one online softmax, and the mask of its scores must hide from each row the columns after a
    diagonal. The bound of the loop becomes an `sm.row_limit`, which `end-warpgroups-early` uses. A warpgroup may skip
    an iteration that is hidden from all its rows, because it leaves their state as it is.

    Runs before `boundary-masks`, while the mask is still one expression.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::sm::SmDialect"];
}

def FuseMultiplyAdds : Pass<"fuse-multiply-adds", "::mlir::func::FuncOp"> {
  let summary = "folds factors, and fuses multiplications and additions";
  let description = [{
    Exponents: `exp(a - b)`, where b is a broadcast of a smaller tile, becomes `exp2(fma(a, log2e, -b * log2e))`. If a
    is `x * c` with a scalar c, the result is `exp2(fma(x, c * log2e, -b * log2e))`. A select that makes masked elements
    of a -inf moves outside the multiply-add, because the sign of c is not known. It gives exp(-inf) = 0 for any b.
    If b comes from a maximum (`tile.reduce max`), the difference stays, so that the largest exponential is exactly 1.

    Factors: before that, factors and divisors that are the same for all elements of an f32 tile become one scalar
    factor: `x * c / d` becomes `x * (c * (1 / d))`. A division then costs no more than a multiplication. The result is
    as accurate, unless the factor leaves the range of f32: a divisor below 2^-126 gives infinities, and NaN for x = 0.

    Sums: after that, a sum or difference of f32 tiles becomes a multiply-add if one side is a multiplication without
    other uses: `x * y - z` becomes `fma(x, y, -z)`.

    Factors are folded if every dot of the function multiplies 16-bit values. Exponents and sums are fused only if every
    dot multiplies bf16. A fused exponent does not round x * c as the pass did that computed b from the same scores.
    Instead it rounds c * log2e and b * log2e. The result is off by about 3 |b| 2^-24, which is 2^-7 for scores of
    50,000. bf16, itself rounded by 2^-8, nearly hides that. f16 gradients show it, most of all if one key has all of a
    row's probability, or if the row's gradients sum to 0. Infinite a, b and x give the same results as without the
    pass.

    Runs before `base2-exponentials`, and before `boundary-masks`, which needs the selects.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::tile::TileDialect"];
}

def GuardDivision : Pass<"guard-division"> {
  let summary = "makes integer division total";
  let description = [{
    In this language x / 0 and x % 0 are 0, and the smallest integer divided by -1 wraps around. A machine may trap on
    either and kill the host. An unsafe divisor is replaced by 1, and the result of a division by 0 is replaced by 0.
    Divisions by safe constants stay as they are, and unsigned ones by numbers that are known not to be 0.

    Cost: two or three compares and two selects per division, which is little compared with the division itself.

    Runs before anything that expands or vectorises divisions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def GuardLoops : Pass<"guard-loops"> {
  let summary = "makes every loop end";
  let description = [{
    In this language a loop with a step of 0 or less has no iterations, and positions do not wrap around. A machine
    would repeat such a loop forever.

    - If the step is not known to be positive, the end becomes the begin for other steps.
    - If a position may come near the ends of the numbers of its type, the loop counts its iterations instead. The
      position of iteration k is `begin + k * step`.

    ```mlir
    scf.for %i = %begin to %end step %step { ... }
    ```

    with an unknown `%step` and bounds that come from tensors of i32 becomes

    ```mlir
    %isPositive = arith.cmpi sge, %step, %one : index
    %newEnd = arith.select %isPositive, %end, %begin : index
    %newStep = arith.maxsi %step, %one : index
    scf.for %i = %begin to %newEnd step %newStep { ... }
    ```

    A loop whose step is a constant costs nothing, unless a bound is computed from numbers of 64 bits. Sizes of
    dimensions, program ids and numbers of 32 bits have bounds that the pass knows (`IntegerRanges.h`).

    Runs before passes that replace the bounds of loops, such as `limit-rows`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def GuardShifts : Pass<"guard-shifts"> {
  let summary = "defines shifts by any count";
  let description = [{
    In this language the count of a shift is an unsigned number, and bits that are shifted out are lost. If the count is
    at least the number of bits, `<<` gives 0, and `>>` gives the sign: 0 or -1. MLIR and LLVM leave these results
    undefined.

    ```mlir
    %left = arith.shli %x, %count : i32
    %right = arith.shrsi %x, %count : i32
    ```

    becomes

    ```mlir
    %isWithin = arith.cmpi ult, %count, %c32 : i32
    %shifted = arith.shli %x, %count : i32
    %left = arith.select %isWithin, %shifted, %c0 : i32
    %limited = arith.minui %count, %c31 : i32
    %right = arith.shrsi %x, %limited : i32
    ```

    Shifts whose count is known to be less than the number of bits stay as they are, such as those by a constant or by
    `n & 31`.

    Runs before anything that expands or vectorises shifts.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def HoistGathers : Pass<"hoist-gathers"> {
  let summary = "moves loop-invariant gathers, and what is invariant of their addresses, before the loop";
  let description = [{
    Applies to a `tile.gather` of at most 512 elements from a tensor that the function does not write, if its positions
    do not change in the loop. The computation of the positions moves with it. A gather reads nothing outside its
    tensor, so the move is safe even if the loop has no iterations.

    For example, the slopes and the bounds of ranges of a block of queries stay in registers for the whole loop.

    A gather of one element, such as an entry of a list, may read from a slice. Leading indices of the slice that do not
    change in the loop are fixed before the loop, because each one takes a comparison and 64-bit arithmetic:

    ```mlir
    %entry = tile.slice %lists[%batch, %head, %i] : !tile.view<4xi32> -> !tile.view<1xi32>
    %n = tile.gather %entry[%c0] : !tile.view<1xi32>, index -> i32
    ```

    becomes, before the loop and in it,

    ```mlir
    %row = tile.slice %lists[%batch, %head] : !tile.view<4xi32> -> !tile.view<2xi32>

    %entry = tile.slice %row[%i] : !tile.view<2xi32> -> !tile.view<1xi32>
    %n = tile.gather %entry[%c0] : !tile.view<1xi32>, index -> i32
    ```
  }];
}

def LinearPositions : Pass<"linear-positions"> {
  let summary = "computes f32 positions and position masks by additions, not conversions";
  let description = [{
    GPUs convert between integers and f32 at an eighth of the rate of additions, which is as slow as exponentials. If an
    integer tile grows by a constant along each dimension, only its first element is converted. The other elements are
    sums of it and a constant. The absolute value of such a tile is computed in the same way.

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

    Results are exact up to 2^24, as a conversion is. Beyond, a conversion rounds, and the addition rounds once more.

    A compare of tiles that grow along several dimensions, such as the mask of a diagonal, becomes a compare of one
    `sm.linear` with 0. Each element then needs a compare of one register with a constant, instead of two positions and
    a compare of them. In modules with `tile.roles = "load"`, compares of tiles that grow along one dimension are
    rewritten, too, such as the mask of the last keys. ptxas would keep the loop-invariant part of the positions in 31
    registers for 128 keys. In other modules, loads need these positions anyway.

    `and` of positions and 2^n - 1 gives positions, too, if the tile does not cross a multiple of 2^n. Only the first
    element is then taken modulo 2^n.

    Runs after `boundary-masks`, which analyses the positions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::sm::SmDialect"];
}

def LoadAffineGathers : Pass<"load-affine-gathers"> {
  let summary = "turns gathers of whole rectangles into loads";
  let description = [{
    Applies if index d of a gather counts 1, 2, 3, ... along dimension d and does not change along other dimensions, as
    for an additive bias. The gather then reads a rectangle of the view, and scalars give the position of its first
    element. As a `tile.load`, it can be copied ahead by other passes.

    ```mlir
    %b = tile.gather %bias[%rows, %keys]
      : !tile.view<2xbf16>, tensor<64x32xi32>, tensor<64x32xi32> -> tensor<64x32xbf16>
    ```

    becomes

    ```mlir
    %b = tile.load %bias[%row, %key] : !tile.view<2xbf16> -> tensor<64x32xbf16>
    ```

    Runs after canonicalisation. Rounding: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tegula::tile::TileDialect"];
}

def ReciprocalDivisors : Pass<"reciprocal-divisors"> {
  let summary = "replaces divisions in loops by multiplications";
  let description = [{
    A GPU divides 32-bit integers with about 25 instructions, each of which waits for the previous one. If a divisor is
    known before a loop, the pass computes its reciprocal there. In the loop remain a 64-bit multiplication, a
    correction by at most 1, and signs. Results are those that `guard-division` defines, x / 0 = x % 0 = 0 included.

    ```mlir
    %block = arith.divsi %number, %heads : i32
    ```

    becomes, if neither operand is negative,

    ```mlir
    %quotient = (%number * %reciprocal) >> 32
    %rest = arith.subi %number, (%quotient * %heads)
    %block = arith.addi %quotient, (%rest >= %heads)
    ```

    with `%reciprocal = (2^32 - 1) / %heads` before the loop.

    Persistent program instances gain from this: each block of queries begins with such divisions. Runs before
    `guard-division`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ScaleAfterMasks : Pass<"scale-after-masks", "::mlir::func::FuncOp"> {
  let summary = "multiplies exponents after the branches that mask them";
  let description = [{
    `exp2(if(edge) { select(mask, x * c, -inf) } else { x * c })` with a scalar c becomes
    `exp2(if(edge) { select(mask, x, -inf) } else { x } * c)`. ptxas interleaves nothing across a branch. The
    multiplications now come after it, beside the exponentials, which wait for the MUFU unit.

    A negative c is a case of the branch, and a c of 0 becomes the smallest normal number (`ScaledScores.h`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::tegula::tile::TileDialect"];
}

#endif
