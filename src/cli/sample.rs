//! `fieldtrial sample`: draws samples from a trained model.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::png;
use crate::base::text::{count, kebab_case};
use crate::device::DeviceKind;
use crate::diag::Failure;
use crate::progress::Spinner;
use crate::results::{create_folder, write_if_changed};
use crate::tasks::Image;
use crate::trained::{SampleOptions, Samples, Trained, sample};

use super::new_data::refuse_overwriting_inputs;
use super::output::Stdout;
use super::problem::mistake;
use super::trained::{TrainedChoice, problem};
use super::{Outcome, Problem, exit_code};

/// Draw samples from a trained model that generates: images, text, paths
///
/// Images of `ddpm-unet` are drawn by the first sampler of `validation.sampling` (DDIM without it), class after class in turn; text
/// of a model that predicts the next token goes on from a prompt; path generators give paths as CSV.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial sample ddpm-sample -n 8 --out samples/
  fieldtrial sample char-gpt -n 2 --prompt 'The model ' --length 300")]
pub(super) struct SampleArguments {
    #[command(flatten)]
    trained: TrainedChoice,
    /// Number of samples
    #[arg(short = 'n', long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,
    /// The folder for files, one for each image or text; needed for images, without it texts and paths go to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The seed of all noise
    #[arg(long = "noise", value_name = "SEED", default_value_t = 1)]
    noise: u64,
    /// How every text begins
    #[arg(long, value_name = "TEXT", default_value = "")]
    prompt: String,
    /// Length of each text in characters (or bytes)
    #[arg(long, value_name = "N", default_value_t = 200)]
    length: u32,
    /// Below 1, likely characters are drawn more often; 0 for the most likely alone
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    temperature: f64,
    /// Where to compute: `cpu`, `cuda` or `cuda:N`
    #[arg(long, default_value = "cpu")]
    device: DeviceKind,
}

pub(super) fn run(arguments: &SampleArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    let options = SampleOptions {
        count: arguments.number as usize,
        seed: arguments.noise,
        prompt: arguments.prompt.clone(),
        length: arguments.length as usize,
        temperature: arguments.temperature,
    };
    let spinner = Spinner::new("sampling");
    let mut told = |done: usize, of: usize| spinner.say(&format!("sampling: step {done} of {of}"));
    let drawn = sample(&trained, &options, arguments.device, &mut told);
    spinner.clear();
    let files = files(&trained, drawn.map_err(problem)?, arguments.out.is_some());
    let Some(folder) = &arguments.out else {
        return print(files);
    };
    for (name, _) in &files {
        refuse_overwriting_inputs(&folder.join(name), &trained, None)?;
    }
    write(folder, &files)?;
    eprintln!(
        "written  {} in {}",
        count(files.len(), "file"),
        folder.display()
    );
    Ok(exit_code::GOOD)
}

/// Names and contents of the files; a single one for printed texts and paths.
fn files(trained: &Trained, samples: Samples, is_folder: bool) -> Vec<(String, Vec<u8>)> {
    match samples {
        Samples::Images(images) => {
            let name = |number: usize, image: &Image| {
                let class = image.name.parse().ok();
                let class = class.and_then(|class: usize| trained.class_names.get(class));
                let class = class.map(|name| format!("-{}", kebab_case(name)));
                format!("sample-{number:03}{}.png", class.unwrap_or_default())
            };
            let file = |(number, image): (usize, Image)| {
                let bytes = png::encode(image.width, image.height, &image.pixels);
                // The encoder fails only if the writer does, and writing to memory cannot fail.
                Some((name(number, &image), bytes.ok()?))
            };
            images.into_iter().enumerate().filter_map(file).collect()
        }
        Samples::Texts(texts) if is_folder => {
            let texts = texts.into_iter().enumerate();
            let file = |(number, text): (usize, String)| {
                (format!("sample-{number:03}.txt"), text.into_bytes())
            };
            texts.map(file).collect()
        }
        Samples::Texts(texts) => {
            let text = texts.join("\n----\n") + "\n";
            vec![(String::new(), text.into_bytes())]
        }
        Samples::Paths(paths) => {
            let mut csv = "sample,time,value\n".to_owned();
            for (number, path) in paths.iter().enumerate() {
                for (time, value) in path {
                    let _ = writeln!(csv, "{number},{time},{value}");
                }
            }
            vec![("samples.csv".to_owned(), csv.into_bytes())]
        }
    }
}

fn print(files: Vec<(String, Vec<u8>)>) -> Outcome {
    let is_image =
        |(name, _): &(String, Vec<u8>)| Path::new(name).extension() == Some("png".as_ref());
    if files.iter().any(is_image) {
        let help = "`--out DIR` names the folder for them".to_owned();
        return Err(Failure::without_source("images cannot be printed", Some(help)).into());
    }
    let mut out = Stdout::new();
    for (_, bytes) in files {
        out.write_all(&bytes)?;
    }
    out.flush()?;
    Ok(exit_code::GOOD)
}

fn write(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    create_folder(folder).map_err(mistake)?;
    for (name, bytes) in files {
        write_if_changed(&folder.join(name), bytes).map_err(mistake)?;
    }
    Ok(())
}
