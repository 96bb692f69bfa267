//! The command line: one file per command, and the only place with clap.
//!
//! Results go to standard output, everything else to standard error. [`run()`] is the entry point; [`exit_code`] lists
//! the exit codes.

pub mod exit_code;

mod ab;
mod after_run;
mod baselines;
mod check_command;
mod choice;
mod compare;
mod completions;
mod doctor;
mod earlier;
mod evaluate;
mod export;
mod fingerprints;
mod gate;
mod helper;
mod history;
mod interrupt;
mod language;
mod layers;
mod list;
mod live;
mod manual;
mod merge;
mod new;
mod new_data;
mod output;
mod overview;
mod plan;
mod predict;
mod printed;
mod probe;
mod problem;
mod render;
mod report;
mod run;
mod run_arguments;
mod run_plan;
mod sample;
mod schema;
mod search_run;
mod setup;
mod shard;
mod side;
mod single_cell;
mod stale;
mod status;
mod submit;
mod table;
mod textconv;
mod trained;
mod trials;
mod verify;
mod words;
mod work;
mod worker;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::base::shell;
use crate::base::text::escape_control_crlf_to_lf;
use crate::plan::set_probe_program;
use crate::report::set_render_program;

use problem::{Outcome, Problem};
pub use worker::{is_refused_thread, is_thread_without_stack};

/// Declarative training experiments: TOML manifests in, CSV files that diff well and honest reports out.
#[derive(Debug, Parser)]
#[command(name = "fieldtrial", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  fieldtrial new mine --data table.csv
  fieldtrial run experiments/quickstart.toml
  fieldtrial plan experiments/ddpm.toml
  fieldtrial plan experiments/ddpm.toml --set 'matrix.batch-size=[8, 64]' --only device=cpu
  fieldtrial compare main
  fieldtrial verify experiments/ddpm.toml --model unet --reference ref/unet
  fieldtrial ab HEAD~1 experiments/ddpm.toml
  fieldtrial history quickstart
  fieldtrial list models

Exit codes:
  0 success    1 a run failed, a comparison found a regression, or results are stale    2 a mistake in the input, or no cell can run
  3 not comparable    4 nothing to compare    70 a bug of Fieldtrial    130 interrupted";

#[derive(Debug, Subcommand)]
enum Command {
    New(new::NewArguments),
    Run(run_arguments::RunArguments),
    Merge(merge::MergeArguments),
    Submit(submit::SubmitArguments),
    Status(status::StatusArguments),
    Plan(plan::PlanArguments),
    Report(report::ReportArguments),
    Stale(stale::StaleArguments),
    Predict(predict::PredictArguments),
    Sample(sample::SampleArguments),
    Evaluate(evaluate::EvaluateArguments),
    Export(export::ExportArguments),
    Compare(compare::CompareArguments),
    Ab(ab::AbArguments),
    History(history::HistoryArguments),
    List(list::ListArguments),
    Schema(schema::SchemaArguments),
    Verify(verify::VerifyArguments),
    #[command(name = "check-command")]
    Check(check_command::CheckCommandArguments),
    Helper(helper::HelperArguments),
    Completions(completions::CompletionsArguments),
    Doctor(doctor::DoctorArguments),
    Textconv(textconv::TextconvArguments),
    /// Executes one run, which its parent process describes on standard input
    #[command(hide = true)]
    Worker,
    /// Computes the baselines of a split, which its parent process describes on standard input
    #[command(hide = true)]
    Baselines,
    /// Prints the properties of a device as JSON for its parent process
    #[command(hide = true)]
    Probe(probe::ProbeArguments),
    /// Renders one report page by a template of the user, from data that its parent process sends on standard input
    #[command(hide = true)]
    Render(render::RenderArguments),
    /// Executes the runs of one side of a comparison that its parent process requests on standard input
    #[command(hide = true)]
    Side(side::SideArguments),
}

/// Runs the program.
pub fn run() -> ExitCode {
    if let Ok(program) = std::env::current_exe() {
        set_probe_program(program.clone());
        set_render_program(program);
    }
    #[cfg(unix)]
    survive_file_limit();
    // A worker gets its order on standard input, and its start-up time is measured, so arguments are not parsed.
    if std::env::args_os().skip(1).eq(["worker"]) {
        return ExitCode::from(code(worker::worker()));
    }
    if let Some(name) = std::env::args_os().next() {
        shell::set_program_name(&name);
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(asked) => return ExitCode::from(code(help_or_mistake(&asked))),
    };
    let outcome = match arguments.command {
        Command::New(arguments) => new::new(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Merge(arguments) => merge::merge(&arguments),
        Command::Submit(arguments) => submit::submit(&arguments),
        Command::Status(arguments) => status::status(&arguments),
        Command::Worker => worker::worker(),
        Command::Baselines => baselines::serve_baselines(),
        Command::Probe(arguments) => probe::probe(&arguments),
        Command::Render(arguments) => render::render(&arguments),
        Command::Side(arguments) => side::side(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Stale(arguments) => stale::stale(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Sample(arguments) => sample::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Ab(arguments) => ab::ab(&arguments),
        Command::History(arguments) => history::history(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Check(arguments) => check_command::check_command(&arguments),
        Command::Helper(arguments) => helper::helper(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Textconv(arguments) => textconv::textconv(&arguments),
        Command::Completions(arguments) => {
            completions::completions(&arguments, &mut Arguments::command())
        }
    };
    ExitCode::from(code(outcome))
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail like one to a full disk, instead of killing this
/// process by SIGXFSZ. Child processes are not affected.
#[cfg(unix)]
fn survive_file_limit() {
    // If the handler cannot be installed, the signal keeps its default effect.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Prints requested texts (`--help`, `--version`) on standard output, and a mistake in the arguments on standard error.
fn help_or_mistake(error: &clap::Error) -> Outcome {
    let text = error.render().to_string();
    let shown = escape_control_crlf_to_lf(&text);
    if shown == text {
        let printed = error.print();
        if !error.use_stderr() {
            printed?;
        }
    } else {
        // An argument contains control characters, so the escaped text is printed.
        eprint!("{shown}");
    }
    Ok(u8::try_from(error.exit_code()).unwrap_or(exit_code::MISTAKE))
}

fn code(outcome: Outcome) -> u8 {
    match outcome {
        Ok(code) => code,
        Err(Problem::Mistake(failure)) => {
            output::print_failure(&failure);
            exit_code::MISTAKE
        }
        // A closed pipe (`fieldtrial plan … | head`) is not an error.
        Err(Problem::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => exit_code::GOOD,
        Err(Problem::Output(error)) => {
            eprintln!("error: cannot write: {error}");
            exit_code::MISTAKE
        }
        Err(Problem::Bug(sentence)) => {
            eprintln!("error: {sentence}");
            eprintln!("error: this is a bug in fieldtrial, please report it with the lines above");
            exit_code::BUG
        }
    }
}
