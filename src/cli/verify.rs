//! `fieldtrial verify`: compares a model with the same model in another program.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::diag::{Diagnostic, Failure};
use crate::plan::CellSpec;
use crate::results::pretty_json;
use crate::verify::{self, Verification, VerifyError};

use super::output::Stdout;
use super::single_cell::single_cell;
use super::{Outcome, Problem, exit_code};

/// Compare a model with weights, inputs and gradients of another implementation
///
/// The model takes the reference's weights and inputs, dropout off; its loss, its gradients and its weights after three
/// steps of the manifest's optimizer, each on the same inputs, are compared. `docs/verify.md` describes the files.
///
/// Of the manifest it reads the named model and loss, and of `[train]` the optimizer (with its rate, held constant),
/// `clip`, `clip-by`, `freeze`, `algorithm`, `beta`, `convolution` and `device`: state there what the reference used, or give it with
/// `--set`. Matrices are left out.
///
/// The output says by which algorithms convolutions were computed; Winograd's are allowed larger errors of the weights.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  fieldtrial verify experiments/ddpm.toml --model unet --set models.unet.base-channels=32 --reference ref/unet32

Exit codes: 0 every error is within its tolerance · 1 one is not · 2 files or manifest do not fit")]
pub(super) struct VerifyArguments {
    /// The manifest
    manifest: PathBuf,
    /// Name of the model in the manifest
    #[arg(long, value_name = "NAME")]
    model: String,
    /// Name of the loss in the manifest, or its kind; without it, the one that fits the model
    #[arg(long, value_name = "NAME")]
    loss: Option<String>,
    /// Override a value of the manifest, as TOML; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the reference files
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// How to print the errors
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

pub(super) fn verify(arguments: &VerifyArguments) -> Outcome {
    let cell = cell(arguments)?;
    let verification =
        verify::verify(&cell, &arguments.reference).map_err(|error| failure(arguments, &error))?;
    let mut out = Stdout::new();
    match arguments.format {
        Format::Table => table(&verification, &mut out)?,
        Format::Json => out.write_all(pretty_json(&verification).as_bytes())?,
    }
    out.flush()?;
    Ok(exit_code::failed_if(!verification.passed))
}

/// The cell of the named model and loss. The inputs come from the reference files, so any dataset of the manifest will
/// do.
fn cell(arguments: &VerifyArguments) -> Result<CellSpec, Problem> {
    let loss = arguments.loss.as_deref();
    let planned = single_cell(&arguments.manifest, &arguments.set, &arguments.model, loss)?;
    let mut cell = planned.spec;
    let train = Arc::make_mut(&mut cell.train);
    (train.init_from, train.fresh) = (None, Vec::new());
    Ok(cell)
}

/// The error as a failure with one message per mistake.
fn failure(arguments: &VerifyArguments, error: &VerifyError) -> Problem {
    let mistakes = match error {
        VerifyError::Reference(mistakes) => mistakes.clone(),
        VerifyError::Op(error) => vec![error.to_string()],
    };
    let mut diagnostics: Vec<Diagnostic> = mistakes.into_iter().map(Diagnostic::error).collect();
    if let Some(last) = diagnostics.pop() {
        let folder = arguments.reference.display();
        diagnostics.push(last.help(format!(
            "`{folder}` is to hold the files that `docs/verify.md` describes"
        )));
    }
    Failure::new(diagnostics, Arc::new([])).into()
}

fn table(verification: &Verification, out: &mut impl Write) -> io::Result<()> {
    let (error, tolerance) = ("error", "tolerance");
    writeln!(out, "{:<24}{error:>10}{tolerance:>12}  largest in", "")?;
    for (name, error, tolerance, place) in verification.errors() {
        writeln!(out, "{name:<24}{error:>10.1e}{tolerance:>12.0e}  {place}")?;
    }
    if let Some(least) = verification.convolutions.last() {
        let names = verification.convolutions.iter();
        let names: Vec<String> = names.map(|one| format!("`{}`", one.name())).collect();
        let (names, least) = (names.join(", "), least.name());
        writeln!(
            out,
            "convolutions by {names}; weights have the tolerance of `{least}`"
        )?;
    }
    let passed = verification.passed;
    let verdict = if passed { "passed" } else { "failed" };
    let (loss, reference) = (verification.loss, verification.reference_loss);
    let parameters = verification.parameters;
    writeln!(
        out,
        "{verdict}: {parameters} parameters, loss {loss} where the reference has {reference}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::ConvAlgorithm;

    #[test]
    fn algorithms_of_convolutions_are_printed_with_their_tolerance() {
        let convolutions = vec![ConvAlgorithm::Direct, ConvAlgorithm::Winograd5];
        let verification = Verification {
            loss: 1.5,
            reference_loss: 1.5,
            loss_relative_error: 0.0,
            gradient_relative_error: 2e-5,
            gradient_worst: "conv.bias".into(),
            weights_after_relative_error: 1.3e-4,
            weights_after_worst: "norm.bias".into(),
            weights_after_tolerance: Verification::weights_tolerance(&convolutions),
            convolutions,
            parameters: 7,
            passed: true,
            statistics_relative_error: None,
            statistics_worst: String::new(),
            evaluation_relative_error: None,
        };
        let mut out = Vec::new();
        table(&verification, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let weights = ["weights after 3 steps", "1.3e-4", "1e-3", "norm.bias"];
        assert!(weights.iter().all(|part| lines[3].contains(part)), "{text}");
        let by =
            "convolutions by `direct`, `winograd-5`; weights have the tolerance of `winograd-5`";
        assert_eq!(lines[4], by);
    }
}
