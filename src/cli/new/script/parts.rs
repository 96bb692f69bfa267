//! [`ArgumentEntries`]: what an argument of a script becomes in the manifest.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use crate::base::units::round_significant;
use crate::models::RUN_PLACEHOLDERS;

use super::super::draft::quoted;
use super::arguments::Argument;
use super::asked::regex;

/// Largest integer default for which a range is proposed: ranges end at four times the default, and up to 2⁵³ `f64` has
/// every integer.
const LARGEST: f64 = (1_u64 << 51) as f64;

/// Manifest settings that scripts often have as arguments, with common names of these arguments.
const ROLES: [(&str, &[&str]); 5] = [
    (
        "train.batch-size",
        &[
            "batch_size",
            "batch",
            "bs",
            "train_batch_size",
            "per_device_train_batch_size",
        ],
    ),
    (
        "loader.workers",
        &[
            "workers",
            "num_workers",
            "n_workers",
            "dataloader_num_workers",
            "loader_workers",
        ],
    ),
    (
        EPOCHS,
        &[
            "epochs",
            "num_epochs",
            "n_epochs",
            "max_epochs",
            "num_train_epochs",
        ],
    ),
    ("seed", &["seed", "random_seed", "manual_seed"]),
    ("threads", &["threads", "num_threads", "n_threads"]),
];

const EPOCHS: &str = "train.epochs";

/// Help texts of an argument that is the number of epochs, whatever its name.
static EPOCHS_BY_HELP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?:the )?(?:total )?number of (?:total |training )?epochs(?: to (?:train|run))?(?: for)?\W*(?:\(.*)?$",
    )
});

/// Names of flags with a role (`[models.X.roles]`).
const SWITCHES: [(&str, &[&str]); 4] = [
    ("compile", &["compile", "use_compile", "torch_compile"]),
    (
        "amp",
        &["amp", "use_amp", "mixed", "mixed_precision", "autocast"],
    ),
    ("channels-last", &["channels_last", "use_channels_last"]),
    ("pin-memory", &["pin_memory", "pin", "pin_mem"]),
];

/// Words in names of whole numbers for which a range around the default makes no sense.
const WITHOUT_RANGE: [&str; 8] = [
    "port", "seed", "worker", "workers", "thread", "threads", "rank", "device",
];

/// Parts of the manifest that an argument of a script becomes.
pub(super) struct ArgumentEntries {
    /// The argument's word in the command line `run`.
    pub(super) word: String,
    /// The part's line in `parameters`.
    pub(super) parameter: Option<String>,
    /// The part's line in `roles`.
    pub(super) role: Option<String>,
    /// The manifest setting that the argument corresponds to, with its default in the script.
    pub(super) setting: Option<(&'static str, Json)>,
    /// The line that tells the user what was guessed.
    pub(super) guess: String,
}

/// The parts for the arguments, and a line for each reason why some have none.
pub(super) fn parts(arguments: &[&Argument]) -> (Vec<ArgumentEntries>, Vec<String>) {
    let mut parts = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut left_out: Vec<(&str, Vec<String>)> = Vec::new();
    for (argument, setting) in arguments.iter().zip(settings(arguments)) {
        let made = if argument.option.is_empty() {
            Err("positional")
        } else if let Some(setting) = setting {
            Ok(of_setting(argument, setting))
        } else {
            of_parameter(argument, &names)
        };
        match made {
            Ok((name, part)) => {
                names.push(name);
                parts.push(part);
            }
            Err(why) => {
                let shown = if argument.option.is_empty() {
                    &argument.name
                } else {
                    &argument.option
                };
                let shown = format!("`{shown}`");
                match left_out.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, own)) => own.push(shown),
                    None => left_out.push((why, vec![shown])),
                }
            }
        }
    }
    let line = |(why, names): &(&str, Vec<String>)| {
        format!(
            "left out ({why}; what the script has by default holds): {}",
            names.join(", ")
        )
    };
    let lines = left_out.iter().map(line).collect();
    (parts, lines)
}

/// The manifest setting that each argument corresponds to, if any; no setting twice.
fn settings(arguments: &[&Argument]) -> Vec<Option<&'static str>> {
    let mut taken: Vec<&str> = Vec::new();
    let mut by_name = |argument: &&Argument| {
        let name = identifier(&argument.option);
        let (setting, _) = ROLES.iter().find(|(_, names)| names.contains(&&*name))?;
        let is_free = !taken.contains(setting) && !argument.is_flag;
        is_free.then(|| {
            taken.push(setting);
            *setting
        })
    };
    let mut found: Vec<Option<&'static str>> = arguments.iter().map(&mut by_name).collect();
    if !taken.contains(&EPOCHS) {
        let is_it = |argument: &&Argument| EPOCHS_BY_HELP.is_match(argument.help.trim());
        if let Some(place) = arguments.iter().position(is_it) {
            found[place].get_or_insert(EPOCHS);
        }
    }
    found
}

fn of_setting(argument: &Argument, setting: &'static str) -> (String, ArgumentEntries) {
    let option = &argument.option;
    let part = ArgumentEntries {
        word: format!("{option}={{{setting}}}"),
        parameter: None,
        role: None,
        setting: Some((setting, argument.default.clone())),
        guess: format!("`{option}` is `{setting}`"),
    };
    (String::new(), part)
}

/// The name of an argument as a parameter of the manifest, and its part; `names` are taken.
fn of_parameter(
    argument: &Argument,
    names: &[String],
) -> Result<(String, ArgumentEntries), &'static str> {
    let form = form(argument)?;
    let (option, name) = (&argument.option, free_name(&argument.option, names));
    let word = if argument.is_flag {
        format!("{{{name}}}")
    } else {
        format!("{option}={{{name}}}")
    };
    let switch = SWITCHES
        .iter()
        .find(|(_, names)| argument.is_flag && names.contains(&&*name));
    let what = switch.map_or(String::new(), |(role, _)| {
        format!(", with the role `{role}`")
    });
    let part = ArgumentEntries {
        word,
        role: switch.map(|(role, _)| format!("{role} = {}", quoted(&name))),
        setting: None,
        guess: format!("`{option}` is the parameter `{name}`{what}: `{form}`"),
        parameter: Some(format!("{name} = {form}")),
    };
    Ok((name, part))
}

/// A valid name of a parameter that is not among `names`: `--lrD` becomes `lr_d`.
fn free_name(option: &str, names: &[String]) -> String {
    let mut name = identifier(option);
    if !name.starts_with(|first: char| first.is_ascii_lowercase())
        || RUN_PLACEHOLDERS.contains(&&*name)
    {
        name = format!("script_{name}");
    }
    let is_taken = |name: &String| names.contains(name);
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    if is_taken(&name) {
        let free = numbered.find(|name| !is_taken(name));
        free.unwrap_or_default()
    } else {
        name
    }
}

/// An option in lower-case letters, digits and `_`: `--batchSize` and `--batch-size` are `batch_size`.
fn identifier(option: &str) -> String {
    let mut name = String::new();
    let mut before = '_';
    for letter in option.trim_start_matches('-').chars() {
        if letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            name.push('_');
        }
        name.push(match letter {
            _ if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
            _ => '_',
        });
        before = letter;
    }
    name
}

/// The declaration of a parameter, as TOML.
///
/// # Errors
/// The reason why the argument cannot become a parameter.
fn form(argument: &Argument) -> Result<String, &'static str> {
    if argument.is_flag {
        let flag = quoted(&argument.option);
        return Ok(format!("{{ bool = true, default = false, flag = {flag} }}"));
    }
    if argument.default.is_null() {
        return Err("no default");
    }
    if !argument.choices.is_empty() {
        return choice(argument);
    }
    let Some(number) = argument.default.as_f64() else {
        return Err("a text");
    };
    let is_whole =
        argument.kind == "int" || (argument.kind != "float" && argument.default.is_i64());
    if is_whole && !argument.default.is_i64() {
        return Err("no whole number of 64 bits");
    }
    let name = identifier(&argument.option);
    let is_alone = || number > LARGEST || name.split('_').any(is_without_range);
    let has_range = number > 0.0 && !(is_whole && is_alone());
    Ok(if !has_range {
        argument.default.to_string()
    } else if is_whole {
        let (low, high) = ((number / 4.0).ceil().max(1.0), number * 4.0);
        format!("{{ int = [{low}, {high}], default = {number} }}")
    } else {
        let [low, high] = around(number).map(|end| round_significant(end, 6));
        format!("{{ float = [{low:e}, {high:e}], default = {number:e} }}")
    })
}

fn is_without_range(word: &str) -> bool {
    WITHOUT_RANGE.contains(&word)
}

/// A range around a positive number; one below 1 stays below it, because it may be a momentum or a share.
fn around(number: f64) -> [f64; 2] {
    let high = 100.0 * number;
    let is_share = number < 1.0 && high >= 1.0;
    let high = if is_share {
        f64::midpoint(number, 1.0)
    } else {
        high
    };
    [number / 100.0, high]
}

fn choice(argument: &Argument) -> Result<String, &'static str> {
    let is_number = ["int", "float"].contains(&&*argument.kind);
    let written = |choice: &str| {
        if is_number {
            choice.to_owned()
        } else {
            quoted(choice)
        }
    };
    let default = match &argument.default {
        Json::String(word) => word.clone(),
        other => other.to_string(),
    };
    if !argument.choices.contains(&default) {
        return Err("its default is none of its choices");
    }
    let choices: Vec<String> = argument.choices.iter().map(|one| written(one)).collect();
    Ok(format!(
        "{{ choice = [{}], default = {} }}",
        choices.join(", "),
        written(&default)
    ))
}
