//! Memory layout of images in which a convolution is one strided matrix product per filter row.
//!
//! Row y of all images of a chunk is contiguous, then row y + 1 of all images: `(rows, images, columns, C)`.
//! Neighbouring rows share the zero columns between them: the right padding of one row is the left padding of the next.
//! The window of a result is `kw · C` contiguous values in each of `kh` rows, and the next result's window begins
//! `stride · C` values further on, also across images and rows; these steps are the layout's positions. So for filter
//! row r
//!
//! `Y += A_r · W_r`, `A_r: (m × kw·C)` with overlapping rows, `W_r: (kw·C × K)`,
//!
//! where m counts all positions of the layout; results at positions between rows are discarded (2 % at a width of 40, 9
//! % at 10). With a dilation the taps of a filter row are not contiguous, and each tap has a product of its own,
//! `A: (m × C)`. With a stride s, the padded rows are split by their index modulo s into s planes, so that row y of a
//! plane serves result row y.

use std::ops::Range;

use crate::device::Arithmetic;
use crate::ops::gemm::Matrix;
use crate::ops::parallel::for_each_chunk_if;

#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) batch: usize,
    /// Input height, width, channels.
    pub(super) input: (usize, usize, usize),
    /// Height and width of the computed result, which may differ from those of the full convolution.
    pub(super) output: (usize, usize),
    pub(super) kernel: (usize, usize),
    pub(super) stride: usize,
    pub(super) dilation: usize,
    /// Zero rows at the top and zero columns on the left; bottom and right follow from the result's size.
    pub(super) padding: (usize, usize),
    /// Arithmetic of the products.
    pub(super) arithmetic: Arithmetic,
}

impl Windows {
    /// Height and width in pixels that the dilated kernel covers.
    fn extent(&self) -> (usize, usize) {
        let pixels = |taps: usize| self.dilation * (taps - 1) + 1;
        (pixels(self.kernel.0), pixels(self.kernel.1))
    }

    /// Distance in positions between neighbouring image rows of the layout, which share the zeros between them.
    fn pitch(&self) -> usize {
        let data = (self.padding.1 + self.input.1).div_ceil(self.stride);
        // The last window of a row may extend into the zeros before the next row, but not further.
        let reach =
            (self.stride * (self.output.1 - 1) + self.extent().1).saturating_sub(self.padding.1);
        data.max(self.output.1).max(reach.div_ceil(self.stride))
    }
}

/// The part of a layout that is the left matrix of one product: row i begins at value `start + i · step` and has
/// `columns` values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor {
    pub(super) start: usize,
    pub(super) columns: usize,
    pub(super) step: usize,
}

/// The result rows `rows` of each of the images `images`, which one thread computes at a time.
#[derive(Debug, Clone)]
pub(super) struct Chunk<'a> {
    windows: &'a Windows,
    images: Range<usize>,
    rows: Range<usize>,
}

impl<'a> Chunk<'a> {
    pub(super) fn new(windows: &'a Windows, images: Range<usize>, rows: Range<usize>) -> Self {
        Self {
            windows,
            images,
            rows,
        }
    }

    pub(super) fn all(windows: &'a Windows) -> Self {
        Self::new(windows, 0..windows.batch, 0..windows.output.0)
    }

    /// Number of products whose sum is the result: one per filter row or, with a dilation, one per tap.
    pub(super) fn products(&self) -> usize {
        let (rows, columns) = self.windows.kernel;
        if self.windows.dilation == 1 {
            rows
        } else {
            rows * columns
        }
    }

    pub(super) fn arithmetic(&self) -> Arithmetic {
        self.windows.arithmetic
    }

    pub(super) fn width(&self) -> usize {
        self.windows.output.1
    }

    /// Number of positions (steps of `stride` columns) from the first result to the last.
    pub(super) fn positions(&self) -> usize {
        (self.rows.len() * self.images.len() - 1) * self.windows.pitch() + self.windows.output.1
    }

    /// The first position of each result row, in the order of rows in `(B, H', W', K)`.
    pub(super) fn row_starts(&self) -> impl Iterator<Item = usize> + use<> {
        let (images, rows, pitch) = (self.images.len(), self.rows.len(), self.windows.pitch());
        (0..images).flat_map(move |image| (0..rows).map(move |row| (row * images + image) * pitch))
    }

    /// Number of values of one row of the layout, which holds the same row of every image.
    fn row_len(&self) -> usize {
        self.images.len() * self.windows.pitch() * self.windows.stride * self.windows.input.2
    }

    fn plane_len(&self) -> usize {
        let (height, width) = self.windows.extent();
        let below = (height - 1) / self.windows.stride;
        // The windows of the last row extend up to a kernel's width beyond that row.
        (self.rows.len() + below) * self.row_len() + width * self.windows.input.2
    }

    pub(super) fn layout_len(&self) -> usize {
        self.windows.stride * self.plane_len()
    }

    /// Copies the input to `layout`, with zeros for the padding, on several threads if `parallel`.
    pub(super) fn lay_out(&self, x: &[f32], layout: &mut [f32], parallel: bool) {
        let row_len = self.row_len();
        for (parity, plane) in layout.chunks_exact_mut(self.plane_len()).enumerate() {
            for_each_chunk_if(parallel, plane, row_len, |start, target| {
                self.fill_row(x, (start / row_len, parity), (target, 0.0), |to, from| {
                    to.copy_from_slice(from);
                });
            });
        }
    }

    /// As [`Chunk::lay_out`] on one thread, with values rounded to bf16 by `round`.
    pub(super) fn lay_out_rounded(
        &self,
        x: &[f32],
        layout: &mut [u16],
        round: impl Fn(&mut [u16], &[f32]),
    ) {
        for (parity, plane) in layout.chunks_exact_mut(self.plane_len()).enumerate() {
            for (row, target) in plane.chunks_mut(self.row_len()).enumerate() {
                self.fill_row(x, (row, parity), (target, 0), &round);
            }
        }
    }

    /// Writes row `row` of plane `parity` for every image: zeros on the left, the input by `copy`, zeros on the right.
    /// Rows of padding, and the remainder after the last row, are zeros.
    fn fill_row<T: Copy>(
        &self,
        x: &[f32],
        (row, parity): (usize, usize),
        (target, zero): (&mut [T], T),
        copy: impl Fn(&mut [T], &[f32]),
    ) {
        let (h, w, c) = self.windows.input;
        let is_row = target.len() == self.row_len();
        let padded = (row + self.rows.start) * self.windows.stride + parity;
        let Some(y) = padded
            .checked_sub(self.windows.padding.0)
            .filter(|y| is_row && *y < h)
        else {
            target.fill(zero);
            return;
        };
        let one = target.len() / self.images.len();
        for (image, target) in self.images.clone().zip(target.chunks_exact_mut(one)) {
            let (left, rest) = target.split_at_mut(self.windows.padding.1 * c);
            let (middle, right) = rest.split_at_mut(w * c);
            left.fill(zero);
            copy(middle, &x[(image * h + y) * w * c..][..w * c]);
            right.fill(zero);
        }
    }

    /// The left matrix of product number `index`, as a view into `layout` with one row per position.
    pub(super) fn factor<'l>(&self, layout: &'l [f32], index: usize) -> Matrix<'l> {
        let Factor {
            start,
            columns,
            step,
        } = self.factor_at(index);
        Matrix::strided(&layout[start..], self.positions(), columns, step)
    }

    /// Place in the layout of the left matrix of product number `index`.
    pub(super) fn factor_at(&self, index: usize) -> Factor {
        let Windows {
            stride, dilation, ..
        } = *self.windows;
        let (taps, c) = (self.windows.kernel.1, self.windows.input.2);
        let (r, s, width) = if dilation == 1 {
            (index, 0, taps)
        } else {
            (index / taps * dilation, index % taps * dilation, 1)
        };
        let start = r % stride * self.plane_len() + r / stride * self.row_len() + s * c;
        Factor {
            start,
            columns: width * c,
            step: stride * c,
        }
    }

    /// Copies the gradient of the results (`width` channels) to `layout`, one row per position, with zeros at positions
    /// between result rows.
    pub(super) fn lay_out_gradient(
        &self,
        gradient: &[f32],
        width: usize,
        layout: &mut [f32],
        parallel: bool,
    ) {
        let (height, row) = (self.windows.output.0, self.windows.output.1 * width);
        let images = self.images.len();
        for_each_chunk_if(
            parallel,
            layout,
            self.windows.pitch() * width,
            |start, target| {
                let index = start / (self.windows.pitch() * width);
                let (image, y) = (
                    self.images.start + index % images,
                    self.rows.start + index / images,
                );
                // The last row has no zeros after its last result.
                let (values, rest) = target.split_at_mut(row);
                values.copy_from_slice(&gradient[(image * height + y) * row..][..row]);
                rest.fill(0.0);
            },
        );
    }
}
