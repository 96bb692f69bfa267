//! Generated detector events: neutron captures and the light that reaches the detector's surface.
//!
//! `geometry.rs` places the voxels and computes the light that reaches each, `event.rs` draws one event. Every event has
//! its own random stream: events are generated in parallel, and a larger dataset begins with the events of a smaller one.
//! Mathematical functions come from the crate `libm`, so that the bytes are the same on every machine.

mod event;
mod geometry;
mod spec;

pub use event::PHI_COLUMNS;
pub use spec::DetectorEventsSpec;

use rayon::prelude::*;

use super::generator::digest;
use super::normalisation::scales;
use super::split::validation_rows;
use super::table::Table;
use super::{DatasetError, DatasetFacts, Features, OpenDataset, Splits, Target, Targets};
use crate::base::{Purpose, Seed};
use geometry::Detector;

/// Version of the generator, part of the fingerprint; increased when the generator's output changes.
const VERSION: u32 = 1;

impl DetectorEventsSpec {
    pub(super) fn facts(&self, validation_fraction: f64) -> Result<DatasetFacts, DatasetError> {
        let validation = validation_rows(self.samples, validation_fraction)?;
        let sizes = [self.samples - validation, validation, 0];
        let target = Target::Values { len: self.voxels };
        let fingerprint = Some(digest(&format!("detector-events {VERSION} {self:?}")));
        Ok(DatasetFacts::new(sizes, FEATURES, target, fingerprint))
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        let validation = validation_rows(self.samples, validation_fraction)?;
        let splits = Splits::random(self.samples, [validation, 0], seed);
        let mut table = self.generate();
        let scales = scales(table.numbers(), PHI_COLUMNS.len(), &splits.train, 0.0);
        table.normalise(scales);
        Ok(OpenDataset::new(table, splits))
    }

    /// All events, with features that are not normalised.
    fn generate(&self) -> Table {
        let detector = Detector::new(self);
        let mut features = vec![0.0; self.samples * PHI_COLUMNS.len()];
        let mut values = vec![0.0; self.samples * self.voxels];
        features
            .par_chunks_mut(PHI_COLUMNS.len())
            .zip(values.par_chunks_mut(self.voxels))
            .enumerate()
            .for_each_init(Vec::new, |light, (event, (phi, hits))| {
                let mut rng = Seed(self.seed).stream_at(Purpose::Data, &[event as u64]);
                let drawn = self.draw(&mut rng, phi);
                detector.light(drawn.position_mm, light);
                event::draw_hits(&mut rng, light, drawn.hits, hits);
            });
        let target = Target::Values { len: self.voxels };
        let mut table = Table::new(FEATURES, features, Targets::of_values(target, values));
        table.normalisation.columns = PHI_COLUMNS.map(str::to_owned).into();
        table
    }
}

const FEATURES: Features = Features::Vector {
    len: PHI_COLUMNS.len(),
};

#[cfg(test)]
mod tests;
