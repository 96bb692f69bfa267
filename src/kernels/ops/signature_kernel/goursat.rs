//! The Goursat problem of the signature kernel and its adjoint (backward), for eight pairs of paths at once, one per
//! lane.
//!
//! `K[i+1,j+1] = (K[i+1,j] + K[i,j+1]) u − K[i,j] v` with `u = 1 + g/2 + g²/12`, `v = 1 − g²/12`, and K = 1 on the
//! upper and left border. With dyadic order n each increment G is divided over a block of `2ⁿ × 2ⁿ` cells with
//! `g = G/4ⁿ`. Blocks are computed row by row; between blocks only the values on a block's lower and right edge are
//! kept. Backward keeps these edges of all blocks, recomputes the inside of each block in the L1 cache, and goes
//! through the blocks in reverse. With one pair per lane, neither diagonals nor shuffles are needed, and the dependent
//! operations along one row of a block overlap with those of the next row.

/// Number of pairs that are computed together.
pub(super) const LANES: usize = 8;

/// One number for each pair of a group.
pub(super) type Lanes = [f64; LANES];

const ONE: Lanes = [1.0; LANES];
const ZERO: Lanes = [0.0; LANES];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Number of pieces of the first path.
    pub(super) rows: usize,
    /// Number of pieces of the second path.
    pub(super) columns: usize,
    /// Dyadic order n: each increment is divided over `2ⁿ × 2ⁿ` cells.
    pub(super) order: u32,
}

/// `g`, `u` and `v` of the recurrence, equal for all cells of a block.
#[derive(Clone, Copy)]
struct Coefficients {
    g: Lanes,
    u: Lanes,
    v: Lanes,
}

impl Grid {
    /// Number of cells along each side of a block.
    pub(super) fn side(self) -> usize {
        1 << self.order
    }

    /// Number of cells of the refined grid.
    pub(super) fn cells(self) -> usize {
        self.rows * self.columns * self.side() * self.side()
    }

    /// The kernel: K at the last corner of the grid, from the increments `(rows, columns)` of κ.
    #[inline(always)]
    pub(super) fn solve(self, increments: &[Lanes]) -> Lanes {
        let side = self.side();
        let mut upper = vec![ONE; self.columns * side];
        let mut left = vec![ONE; side];
        for row in increments.chunks_exact(self.columns) {
            left.fill(ONE);
            let mut corner = ONE;
            for (g, upper) in row.iter().zip(upper.chunks_exact_mut(side)) {
                corner = sweep(self.coefficients(g), upper, &mut left, corner);
            }
        }
        upper.last().copied().unwrap_or(ONE)
    }

    /// The gradient of `seed · solve(increments)` with respect to the increments.
    #[inline(always)]
    pub(super) fn adjoint(self, increments: &[Lanes], seed: Lanes) -> Vec<Lanes> {
        let edges = Edges::of(self, increments);
        let side = self.side();
        let mut slopes = vec![ZERO; increments.len()];
        let mut inside = vec![ZERO; (side + 1) * (side + 1)];
        // The gradients that each cell of the row below passes to the cell above it (`e`) and to the one above and left
        // of it (`c`); see [`sweep_back`].
        let mut below = vec![[ZERO; 2]; self.columns * side];
        let mut right = vec![[ZERO; 2]; side];
        let mut seed = seed;
        for row in (0..self.rows).rev() {
            right.fill([ZERO; 2]);
            let mut corner = ZERO;
            for column in (0..self.columns).rev() {
                let block = row * self.columns + column;
                let coefficients = self.coefficients(&increments[block]);
                edges.fill(block, coefficients, &mut inside);
                let handed = &mut below[column * side..][..side];
                let next = handed[0][1];
                let [sides, corners] =
                    sweep_back(coefficients, &inside, handed, &mut right, (corner, seed));
                corner = next;
                seed = ZERO;
                slopes[block] = self.slope(&coefficients.g, &sides, &corners);
            }
        }
        slopes
    }

    #[inline(always)]
    fn coefficients(self, increment: &Lanes) -> Coefficients {
        let scale = self.scale();
        let (mut g, mut u, mut v) = (ZERO, ZERO, ZERO);
        for lane in 0..LANES {
            g[lane] = increment[lane] * scale;
            let twelfth = g[lane] * g[lane] * (1.0 / 12.0);
            u[lane] = 1.0 + 0.5 * g[lane] + twelfth;
            v[lane] = 1.0 - twelfth;
        }
        Coefficients { g, u, v }
    }

    /// The gradient of an increment G from the sums over its block's cells: `sides = Σ Ā (K[i+1,j] + K[i,j+1])`, the
    /// gradient of u, and `corners = Σ Ā K[i,j]`, the gradient of −v.
    #[inline(always)]
    fn slope(self, g: &Lanes, sides: &Lanes, corners: &Lanes) -> Lanes {
        let scale = self.scale();
        let mut slope = ZERO;
        for lane in 0..LANES {
            let sixth = g[lane] * (1.0 / 6.0);
            slope[lane] = (sides[lane] * (0.5 + sixth) + corners[lane] * sixth) * scale;
        }
        slope
    }

    fn scale(self) -> f64 {
        1.0 / (self.side() * self.side()) as f64
    }
}

/// The values of K that border every block above and on the left; blocks are in row-major order.
struct Edges {
    side: usize,
    /// `(blocks, side)`: the values above the block, without the one above and left of it.
    upper: Vec<Lanes>,
    /// `(blocks, side)`: the values left of the block, without the one above and left of it.
    left: Vec<Lanes>,
    /// `(blocks)`: the value above and left of the block.
    corners: Vec<Lanes>,
}

impl Edges {
    #[inline(always)]
    fn of(grid: Grid, increments: &[Lanes]) -> Self {
        let side = grid.side();
        let mut edges = Self {
            side,
            upper: Vec::with_capacity(increments.len() * side),
            left: Vec::with_capacity(increments.len() * side),
            corners: Vec::with_capacity(increments.len()),
        };
        let mut upper = vec![ONE; grid.columns * side];
        let mut left = vec![ONE; side];
        for row in increments.chunks_exact(grid.columns) {
            left.fill(ONE);
            let mut corner = ONE;
            for (g, upper) in row.iter().zip(upper.chunks_exact_mut(side)) {
                edges.upper.extend_from_slice(upper);
                edges.left.extend_from_slice(&left);
                edges.corners.push(corner);
                corner = sweep(grid.coefficients(g), upper, &mut left, corner);
            }
        }
        edges
    }

    /// Writes all K of a block to `inside: (side + 1, side + 1)`, with the row above and the column left of the block.
    #[inline(always)]
    fn fill(&self, block: usize, coefficients: Coefficients, inside: &mut [Lanes]) {
        let side = self.side;
        inside[0] = self.corners[block];
        inside[1..=side].copy_from_slice(&self.upper[block * side..][..side]);
        for row in 0..side {
            let (above, own) = inside.split_at_mut((row + 1) * (side + 1));
            let above = &above[row * (side + 1)..];
            own[0] = self.left[block * side + row];
            let mut west = own[0];
            for ((own, north), diagonal) in own[1..=side].iter_mut().zip(&above[1..]).zip(above) {
                *own = cell(coefficients, &west, north, diagonal);
                west = *own;
            }
        }
    }
}

#[inline(always)]
fn cell(coefficients: Coefficients, west: &Lanes, north: &Lanes, diagonal: &Lanes) -> Lanes {
    let Coefficients { u, v, .. } = coefficients;
    let mut value = ZERO;
    for lane in 0..LANES {
        // Only one product and one sum depend on the cell before; what comes from the row above is already known.
        let from_above = north[lane] * u[lane] - diagonal[lane] * v[lane];
        value[lane] = west[lane] * u[lane] + from_above;
    }
    value
}

/// Computes the K of a block. `upper` and `left` have the values above and left of the block and receive those of its
/// last row and column. `corner` is the value above and left of the block; returns that of the next block to the right.
#[inline(always)]
fn sweep(
    coefficients: Coefficients,
    upper: &mut [Lanes],
    left: &mut [Lanes],
    corner: Lanes,
) -> Lanes {
    let next = upper.last().copied().unwrap_or(corner);
    let mut corner = corner;
    for left in left {
        let mut west = *left;
        let mut diagonal = std::mem::replace(&mut corner, west);
        for upper in &mut *upper {
            west = cell(coefficients, &west, upper, &diagonal);
            diagonal = std::mem::replace(upper, west);
        }
        *left = west;
    }
    next
}

/// Backward through a block. With Ā the gradient of a cell's value, `Ā[i,j] = e[i,j+1] + e[i+1,j] − c[i+1,j+1]`, where
/// `e = u Ā` and `c = v Ā` are what a cell passes on. `below` and `right` have `[e, c]` of the neighbouring cells and
/// receive those of the block's first row and column; `corner` is c of the cell below and right of the block; `seed` is
/// added to the last cell's Ā. Returns the sums `[sides, corners]` for [`Grid::slope`].
#[inline(always)]
fn sweep_back(
    coefficients: Coefficients,
    inside: &[Lanes],
    below: &mut [[Lanes; 2]],
    right: &mut [[Lanes; 2]],
    (corner, seed): (Lanes, Lanes),
) -> [Lanes; 2] {
    let Coefficients { u, v, .. } = coefficients;
    let side = right.len();
    let (mut sides, mut corners) = (ZERO, ZERO);
    let (mut seed, mut corner) = (seed, corner);
    for row in (0..side).rev() {
        let [mut east, c] = right[row];
        let mut diagonal = std::mem::replace(&mut corner, c);
        let above = &inside[row * (side + 1)..][..=side];
        let own = &inside[(row + 1) * (side + 1)..][..=side];
        for column in (0..side).rev() {
            let [south, c] = &mut below[column];
            let mut handed = ZERO;
            for lane in 0..LANES {
                let slope = east[lane] + (south[lane] - diagonal[lane] + seed[lane]);
                sides[lane] += slope * (own[column][lane] + above[column + 1][lane]);
                corners[lane] += slope * above[column][lane];
                east[lane] = u[lane] * slope;
                handed[lane] = v[lane] * slope;
            }
            *south = east;
            diagonal = std::mem::replace(c, handed);
            seed = ZERO;
        }
        right[row] = below[0];
    }
    [sides, corners]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recurrence cell by cell on the refined grid; returns the last corner.
    fn plain(rows: usize, columns: usize, order: u32, g: &[f64]) -> f64 {
        let (m, n) = (rows << order, columns << order);
        let mut k = vec![vec![1.0; n + 1]; m + 1];
        for i in 0..m {
            for j in 0..n {
                let g = g[(i >> order) * columns + (j >> order)] / f64::from(1 << (2 * order));
                k[i + 1][j + 1] = (k[i + 1][j] + k[i][j + 1]) * (1.0 + g / 2.0 + g * g / 12.0)
                    - k[i][j] * (1.0 - g * g / 12.0);
            }
        }
        k[m][n]
    }

    /// Random increments for a grid; lane l is generated with seed l.
    fn problem(rows: usize, columns: usize) -> Vec<Lanes> {
        let lane = |lane: usize| crate::ops::testing::random_values(rows * columns, lane as u64);
        let all: Vec<Vec<f32>> = (0..LANES).map(lane).collect();
        (0..rows * columns)
            .map(|at| std::array::from_fn(|lane| f64::from(all[lane][at])))
            .collect()
    }

    #[test]
    fn blocks_give_what_single_cells_give() {
        for (rows, columns, order) in [(1, 1, 0), (3, 5, 0), (4, 2, 1), (2, 3, 3)] {
            let g = problem(rows, columns);
            let grid = Grid {
                rows,
                columns,
                order,
            };
            let found = grid.solve(&g);
            for lane in 0..LANES {
                let own: Vec<f64> = g.iter().map(|g| g[lane]).collect();
                let expected = plain(rows, columns, order, &own);
                assert!((found[lane] / expected - 1.0).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn the_adjoint_is_that_of_finite_differences() {
        for (rows, columns, order) in [(1, 1, 0), (3, 4, 0), (3, 2, 1), (2, 3, 2)] {
            let g = problem(rows, columns);
            let grid = Grid {
                rows,
                columns,
                order,
            };
            let slopes = grid.adjoint(&g, std::array::from_fn(|lane| lane as f64 - 2.5));
            for lane in 0..LANES {
                let own: Vec<f64> = g.iter().map(|g| g[lane]).collect();
                for at in 0..own.len() {
                    let shifted = |by: f64| {
                        let mut own = own.clone();
                        own[at] += by;
                        plain(rows, columns, order, &own)
                    };
                    let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5 * (lane as f64 - 2.5);
                    let found = slopes[at][lane];
                    assert!(
                        (found - slope).abs() < 1e-8 * slope.abs().max(1.0),
                        "{found} {slope}"
                    );
                }
            }
        }
    }
}
