//! Images from costly evaluations.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::base::file;
use crate::base::png;
use crate::base::text::count;
use crate::report::section::{ImageContext, Section};
use crate::report::view::{Cell, View};
use crate::results::SampleInfo;

/// Largest number of images in a report; `samples/` has all.
const MOST: usize = 60;

/// The images that the results name, with their bytes if the results folder has the files.
pub(crate) fn section(view: &View<'_>) -> Section {
    let cells = view.cells.iter();
    let all = cells.flat_map(|cell| {
        let samples = cell.info.samples.iter();
        samples.map(|sample| of_cell(view, cell, sample))
    });
    let mut images: Vec<ImageContext> = all.collect();
    let n = images.len();
    images.truncate(MOST);
    for image in &mut images {
        embed(image, view.folder);
    }
    let cut = || {
        let all = count(n, "image");
        format!("The first {MOST} of {all}; all lie in samples/.")
    };
    Section {
        paragraphs: (n > MOST).then(cut).into_iter().collect(),
        images,
        ..Section::titled("samples", "Samples")
    }
}

/// Reads an image's file in the results folder.
fn embed(image: &mut ImageContext, folder: Option<&Path>) {
    // A file name of a results file must not leave its folder.
    let is_plain = Path::new(&image.file).components().count() == 1;
    let path = folder
        .filter(|_| is_plain)
        .map(|folder| folder.join("samples").join(&image.file));
    let Some(bytes) = path.and_then(|path| file::read(&path).ok()) else {
        return;
    };
    if let Some((width, height)) = png::size(&bytes) {
        (image.width, image.height) = (width, height);
        image.base64 = STANDARD.encode(&bytes);
    }
}

fn of_cell(view: &View<'_>, cell: &Cell<'_>, sample: &SampleInfo) -> ImageContext {
    let mut words = vec![sample.name.clone()];
    if view.cells.len() > 1 {
        words.push(view.name(cell, None));
    }
    words.push(format!("seed {}", sample.seed));
    ImageContext {
        title: words.join(", "),
        caption: sample.caption.clone(),
        file: sample.file.clone(),
        width: 0,
        height: 0,
        base64: String::new(),
    }
}
