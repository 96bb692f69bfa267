//! `fieldtrial schema`: the JSON Schema and the manual of manifests.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::manual::markdown;
use super::{Outcome, exit_code};

/// Print the JSON Schema of manifests, or the manual of all sections and keys
///
/// Editors with taplo (Even Better TOML) complete and check a manifest whose first line is
/// `#:schema manifest.schema.json`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial schema > experiments/manifest.schema.json
  fieldtrial schema --format markdown > docs/manifest.md")]
pub(super) struct SchemaArguments {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// The JSON Schema
    Json,
    /// Every section and key with type, default, range, meaning and examples
    Markdown,
}

pub(super) fn schema(arguments: &SchemaArguments) -> Outcome {
    let text = match arguments.format {
        Format::Json => crate::plan::manifest_schema(),
        Format::Markdown => markdown(),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(exit_code::GOOD)
}
