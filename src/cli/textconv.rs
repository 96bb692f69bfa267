//! `fieldtrial textconv`: a CSV file of results in a form for `git diff`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use crate::base::file;
use crate::base::text::escape_control;
use crate::diag::Failure;
use crate::results;

use super::{Outcome, exit_code};

/// Print a CSV file of results with one line for every value, for `git diff`
///
/// Git runs it on both versions of a file that `.gitattributes` gives to it, and compares what it prints: a changed value
/// is then one changed line, with the key of its row beside it. Any other file is printed as it is.
/// docs/comparing.md has the details.
#[derive(Debug, Args)]
#[command(after_help = "\
Once for every clone (`just git-setup`):
  git config diff.fieldtrial.textconv 'fieldtrial textconv'
  git config diff.fieldtrial.xfuncname '^# (.*)$'")]
pub(super) struct TextconvArguments {
    /// The file to print: a CSV file of results, or any other
    file: PathBuf,
}

pub(super) fn textconv(arguments: &TextconvArguments) -> Outcome {
    let bytes = file::read(&arguments.file).map_err(|error| {
        let title = format!("cannot read `{}`: {error}", arguments.file.display());
        Failure::without_source(title, None)
    })?;
    let text = std::str::from_utf8(&bytes).ok();
    let shown = text.and_then(|text| results::text_for_diff(&escape_control(text)));
    let shown = shown.map_or(bytes, String::into_bytes);
    io::stdout().lock().write_all(&shown)?;
    Ok(exit_code::GOOD)
}
