//! `fieldtrial schema`: the JSON Schema of manifests, for editors.

use std::io::{self, Write};

use clap::Args;

use super::{Outcome, exit_code};

/// Print the JSON Schema of manifests
///
/// Editors with taplo (Even Better TOML) complete and check a manifest whose first line is
/// `#:schema manifest.schema.json`.
///
/// Example: `fieldtrial schema > experiments/manifest.schema.json`
#[derive(Debug, Args)]
pub(super) struct SchemaArguments {}

pub(super) fn schema(_: &SchemaArguments) -> Outcome {
    io::stdout().write_all(crate::plan::manifest_schema().as_bytes())?;
    Ok(exit_code::GOOD)
}
