//! `fieldtrial helper`: prints a source file with which programs report their metrics.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::{Outcome, exit_code};

/// Source of the Python module by which a script reports its metrics.
pub(super) const PYTHON: &str = include_str!("fieldtrial.py");

/// Print the file by which a script reports its metrics
///
/// One file without dependencies, to be copied beside your script; docs/worker-protocol.md is the contract behind it, for other
/// languages.
///
/// Example: `fieldtrial helper python > fieldtrial.py`
#[derive(Debug, Args)]
pub(super) struct HelperArguments {
    /// The language of the program
    language: HelperLanguage,
}

/// A programming language for which there is a helper.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum HelperLanguage {
    /// Python 3.7 or later
    Python,
}

pub(super) fn helper(arguments: &HelperArguments) -> Outcome {
    let text = match arguments.language {
        HelperLanguage::Python => PYTHON,
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(exit_code::GOOD)
}
