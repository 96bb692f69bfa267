//! `fieldtrial render` (hidden): one page by a user's template, in a separate process (`report::set_render_program`).

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::base::os;
use crate::report;

use super::{Outcome, exit_code};

#[derive(Debug, Args)]
pub(super) struct RenderArguments {
    /// Folder of the templates
    folder: PathBuf,
    /// File name of the template
    name: String,
}

pub(super) fn render(arguments: &RenderArguments) -> Outcome {
    // An error is ignored: it means that a lower limit is already set.
    let _ = os::limit_memory(report::RENDER_MEMORY_LIMIT);
    let (folder, name) = (&arguments.folder, &arguments.name);
    report::render_for_parent(folder, name, io::stdin(), io::stdout())?;
    Ok(exit_code::GOOD)
}
