//! The denoisers of detector signals as subjects of the contract tests.

use std::ops::Range;

use super::Subject;
use crate::layers::Init;
use crate::models::{Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec};
use crate::ops::testing::TestDevice;
use crate::ops::{Pass, Result, Var};
use crate::testing::spec;

/// Sizes of the tested denoisers. An input row has the 6 voxels, then the 3 numbers of the event.
const DETECTOR: DenoiserSize = DenoiserSize {
    phi: 3,
    voxels: 6,
    timesteps: 50,
};

/// A denoiser as a test subject: `alt` or `neu`.
pub(super) struct DetectorSubject<const IS_ALT: bool>;

pub(super) type AltSubject = DetectorSubject<true>;
pub(super) type NeuSubject = DetectorSubject<false>;

impl<const IS_ALT: bool> Subject for DetectorSubject<IS_ALT> {
    type Model = Denoiser<TestDevice>;
    const INPUT: &'static [usize] = &[9];
    const OUTPUT: &'static [usize] = &[6];
    const STEPS: u64 = 150;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        if IS_ALT {
            let spec: DetectorAltSpec = spec("hidden = 32, layers = 2, time-embedding = 16");
            return Ok(Denoiser::Alt(Box::new(spec.build(init, DETECTOR)?)));
        }
        let settings = "hidden = 16, layers = 2, time-embedding = 16, dropout = 0.1";
        let spec: DetectorNeuSpec = spec(settings);
        Ok(Denoiser::Neu(Box::new(spec.build(init, DETECTOR)?)))
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        rows: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        let values = x.to_host(pass.device())?;
        let part = |columns: Range<usize>| -> Vec<f32> {
            let rows = values.chunks(9);
            rows.flat_map(|row| row[columns.clone()].to_vec()).collect()
        };
        let device = pass.device().clone();
        let signals = Var::constant(&device, part(0..6), [rows.len(), 6])?;
        let phi = Var::constant(&device, part(6..9), [rows.len(), 3])?;
        let times: Vec<usize> = rows.map(|row| row % 50).collect();
        model.forward(pass, &signals, &times, &phi)
    }

    /// The target depends on the row's time and event, so that a model that ignores one of them cannot learn the
    /// target.
    fn target(x: &[f32], row: usize) -> Vec<f32> {
        let factor = if row.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..6)
            .map(|voxel| factor * x[voxel] + x[6 + voxel % 3])
            .collect()
    }
}
