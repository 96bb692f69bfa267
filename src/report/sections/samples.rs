//! Images that costly evaluations made.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::base::text::count;
use crate::base::{base64, png};
use crate::report::view::{Cell, View};
use crate::results::SampleInfo;

/// Images that a report shows at most; all of them lie in `samples/`.
const MOST: usize = 60;

/// The images of a report.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Samples {
    /// In plan order.
    pub images: Vec<SampleContext>,
    /// "The first 60 of 80 images…", where some are left out.
    pub cut: Option<String>,
}

/// An image, as templates place it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleContext {
    /// Heading: what it is, of which cell and seed.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// Its file is `samples/<file>`.
    pub file: String,
    /// Width in pixels; 0 where the file is not there.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The file in base64, so that a page needs no other file; empty where it is not there.
    pub base64: String,
}

impl Samples {
    /// The images that the results name, without their bytes.
    pub(crate) fn of(view: &View<'_>) -> Self {
        let cells = view.cells.iter();
        let all: Vec<SampleContext> = cells
            .flat_map(|cell| {
                cell.info
                    .samples
                    .iter()
                    .map(|sample| of_cell(view, cell, sample))
            })
            .collect();
        let n = all.len();
        let cut = || {
            format!(
                "The first {MOST} of {}; all lie in `samples/`.",
                count(n, "image")
            )
        };
        Self {
            cut: (n > MOST).then(cut),
            images: all.into_iter().take(MOST).collect(),
        }
    }

    /// Reads their files in the results folder `folder`.
    pub(crate) fn embed(&mut self, folder: &Path) {
        for image in &mut self.images {
            // What a file name of a results file may not do: leave its folder.
            let is_plain = Path::new(&image.file).components().count() == 1;
            let path = folder.join("samples").join(&image.file);
            let Some(file) = is_plain.then(|| fs::read(path).ok()).flatten() else {
                continue;
            };
            if let Some((width, height)) = png::size(&file) {
                (image.width, image.height) = (width, height);
                image.base64 = base64::encode(&file);
            }
        }
    }
}

fn of_cell(view: &View<'_>, cell: &Cell<'_>, sample: &SampleInfo) -> SampleContext {
    let mut words = vec![sample.name.clone()];
    if view.cells.len() > 1 {
        words.push(view.name(cell, None));
    }
    words.push(format!("seed {}", sample.seed));
    SampleContext {
        title: words.join(", "),
        caption: sample.caption.clone(),
        file: sample.file.clone(),
        width: 0,
        height: 0,
        base64: String::new(),
    }
}
