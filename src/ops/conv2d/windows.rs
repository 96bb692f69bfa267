//! How a batch of images is laid out in memory so that a convolution is one strided matrix product per filter row.
//!
//! Rows and images follow each other with a few zeros between them, shared by both neighbours: the zeros right of a
//! row are those left of the next one. The window of a result is then `kw · C` contiguous values in each of `kh` rows,
//! and the next result's window begins `stride · C` values further on, across rows and images. So for filter row r
//!
//! `Y += A_r · W_r`, `A_r: (m × kw·C)` with overlapping rows, `W_r: (kw·C × K)`,
//!
//! where m counts all positions of the padded layout; what is computed between images is thrown away (5 to 21 %).
//! With a stride, padded rows go to `stride` planes by their parity, so that plane row t holds what result row t needs.

/// The sizes of the layout. "Virtual" rows are result rows together with the waste between images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) batch: usize,
    /// Input height, width, channels.
    pub(super) input: (usize, usize, usize),
    /// Result height and width; may be less or more than all positions.
    pub(super) output: (usize, usize),
    pub(super) kernel: (usize, usize),
    pub(super) stride: usize,
    /// Zero rows above, zero columns on the left; those below and on the right follow from the result's size.
    pub(super) padding: (usize, usize),
}

impl Windows {
    /// Virtual rows of one image.
    fn image_pitch(&self) -> usize {
        pitch(
            self.input.0,
            self.output.0,
            self.kernel.0,
            self.stride,
            self.padding.0,
        )
    }

    /// Virtual positions of one row.
    pub(super) fn row_pitch(&self) -> usize {
        pitch(
            self.input.1,
            self.output.1,
            self.kernel.1,
            self.stride,
            self.padding.1,
        )
    }

    /// Result rows of the batch.
    pub(super) fn output_rows(&self) -> usize {
        self.batch * self.output.0
    }

    /// The virtual row of result row `row` (of the batch).
    pub(super) fn virtual_row(&self, row: usize) -> usize {
        row / self.output.0 * self.image_pitch() + row % self.output.0
    }

    /// Positions from the first of virtual row `first` to the last result in row `last`.
    pub(super) fn positions(&self, first: usize, last: usize) -> usize {
        (last - first) * self.row_pitch() + self.output.1
    }

    /// Values of one plane over `rows` virtual rows of results: the rows below are read too.
    pub(super) fn plane_len(&self, rows: usize) -> usize {
        let below = (self.kernel.0 - 1) / self.stride;
        let row = self.row_pitch() * self.stride * self.input.2;
        // The last windows reach a kernel's width beyond the last row.
        (rows + below) * row + self.kernel.1 * self.input.2
    }

    /// Where the windows of filter row `r` begin, in planes of `plane_len` values.
    pub(super) fn filter_row_start(&self, r: usize, plane_len: usize) -> usize {
        r % self.stride * plane_len
            + r / self.stride * self.row_pitch() * self.stride * self.input.2
    }

    /// Writes plane row number `row` (virtual, of the whole batch) of plane `parity`: zeros, input, zeros.
    pub(super) fn fill_row(&self, x: &[f32], row: usize, parity: usize, target: &mut [f32]) {
        let (h, w, c) = self.input;
        let (image, y) = (
            row / self.image_pitch(),
            row % self.image_pitch() * self.stride + parity,
        );
        let source = y
            .checked_sub(self.padding.0)
            .filter(|y| *y < h && image < self.batch);
        let Some(y) = source else {
            target.fill(0.0);
            return;
        };
        let (left, rest) = target.split_at_mut(self.padding.1 * c);
        let (middle, right) = rest.split_at_mut(w * c);
        left.fill(0.0);
        middle.copy_from_slice(&x[(image * h + y) * w * c..][..w * c]);
        right.fill(0.0);
    }

    /// Writes one plane from virtual row `first` on.
    pub(super) fn fill_plane(&self, x: &[f32], first: usize, parity: usize, plane: &mut [f32]) {
        let row = self.row_pitch() * self.stride * self.input.2;
        let rows = plane.chunks_exact_mut(row);
        rows.enumerate()
            .for_each(|(i, target)| self.fill_row(x, first + i, parity, target));
        let rest = plane.len() / row * row;
        plane[rest..].fill(0.0);
    }
}

/// Positions from one row to the next (or rows from one image to the next) such that neighbours share their zeros.
fn pitch(input: usize, output: usize, kernel: usize, stride: usize, padding: usize) -> usize {
    let data = (padding + input).div_ceil(stride);
    // The last window may reach into the zeros before the next row, not further.
    let reach = (stride * (output - 1) + kernel)
        .saturating_sub(padding)
        .div_ceil(stride);
    data.max(output).max(reach)
}
