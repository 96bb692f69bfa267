//! Patterns over the names of parameters, for `train.freeze` and `train.fresh`.

use std::slice::from_ref;

use regex::RegexSet;

use crate::device::Backend;
use crate::diag::{did_you_mean, list};
use crate::ops::{Module, Path};

/// The pattern that matches any number of dot-separated parts of a name, also none.
const ANY_PARTS: &str = "**";

/// A function that returns whether one of `patterns` matches a dotted name: `*` stands for any characters of one part,
/// `**` for any number of parts.
pub fn matcher(patterns: &[String]) -> impl Fn(&str) -> bool + use<> {
    // In the pattern and in the name, every part ends with a dot, also the last one.
    let parts = |pattern: &String| {
        let parts = pattern.split('.').map(|part| match part {
            ANY_PARTS => r"(?:[^.]*\.)*".to_owned(),
            part => regex::escape(part).replace(r"\*", "[^.]*") + r"\.",
        });
        format!("^{}$", parts.collect::<String>())
    };
    let set = RegexSet::new(patterns.iter().map(parts));
    move |name| {
        set.as_ref()
            .is_ok_and(|set| set.is_match(&format!("{name}.")))
    }
}

/// Error: patterns of `train.freeze` or `train.fresh` match no name, or those of `train.freeze` match all parameters.
/// The run reports it if the planner does not know the model's names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnmatchedPatterns(String);

/// Checks that every pattern of the key `train.KEY` matches one of the `names` of the model's parameters, or one of the
/// `others`, such as names in a file.
///
/// # Errors
/// All patterns that match nothing.
pub fn check_patterns(
    key: &str,
    patterns: &[String],
    names: &[String],
    others: &[String],
) -> Result<(), UnmatchedPatterns> {
    let is_matched = |pattern: &String| {
        let matches = matcher(from_ref(pattern));
        names.iter().chain(others).any(|name| matches(name))
    };
    let unmatched = patterns.iter().filter(|pattern| !is_matched(pattern));
    let told: Vec<String> = unmatched
        .map(|pattern| {
            let help = nearest_help(pattern, names).join("; ");
            format!("`train.{key}`: `{pattern}` matches no parameter of the model; {help}")
        })
        .collect();
    if told.is_empty() {
        Ok(())
    } else {
        Err(UnmatchedPatterns(told.join("\n")))
    }
}

/// Freezes the parameters of a model that match `patterns`.
///
/// # Errors
/// A pattern matches no parameter, or the patterns match all parameters.
pub fn freeze<D: Backend>(
    module: &mut dyn Module<D>,
    patterns: &[String],
) -> Result<(), UnmatchedPatterns> {
    let mut names = Vec::new();
    module.visit(&Path::root(), &mut |name, _| names.push(name.to_owned()));
    check_patterns("freeze", patterns, &names, &[])?;
    let is_frozen = matcher(patterns);
    if names.iter().all(|name| is_frozen(name)) {
        return Err(UnmatchedPatterns(ALL_FROZEN.to_owned()));
    }
    module.visit(&Path::root(), &mut |name, parameter| {
        if is_frozen(name) {
            parameter.freeze();
        }
    });
    Ok(())
}

/// The message if all parameters would be frozen.
pub const ALL_FROZEN: &str =
    "`train.freeze` matches all parameters of the model, nothing is left to train";

/// Advice for a pattern that matches none of `names`: a similar pattern that would match, if there is one, and the
/// names.
pub fn nearest_help(pattern: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<String> = Vec::new();
    for name in names {
        near.push(name.clone());
        for (at, _) in name.match_indices('.') {
            let start = &name[..at];
            near.extend([format!("{start}.{ANY_PARTS}"), format!("{start}.*")]);
        }
    }
    let meant = did_you_mean(pattern, near.iter().map(String::as_str));
    let known = list(names.iter().map(String::as_str));
    meant
        .into_iter()
        .chain([format!("the model's parameters are {known}")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_within_a_part_and_two_are_parts() {
        let yes = [
            ("layers.0.weight", "layers.0.weight"),
            ("layers.*.weight", "layers.0.weight"),
            ("layers.0.**", "layers.0.weight"),
            ("layers.0.**", "layers.0.layers.2.weight"),
            ("**.bias", "layers.0.bias"),
            ("**", "bias"),
            ("**.bias", "bias"),
            ("layers.1*.weight", "layers.12.weight"),
            ("layers.0.in_*_b*s", "layers.0.in_proj_bias"),
            ("**.0.**.weight", "layers.0.layers.1.weight"),
            ("**.**.**.weight", "layers.0.weight"),
            ("l*a*r*s.0.*", "layers.0.bias"),
        ];
        let no = [
            ("layers.0", "layers.0.weight"),
            ("layers.*", "layers.0.weight"),
            ("layers.0.*", "layers.0.layers.2.weight"),
            ("layers.1*.weight", "layers.2.weight"),
            ("*.bias", "layers.0.bias"),
            ("layers.0.b*s*s", "layers.0.bias"),
            ("layers.0.ab*ba", "layers.0.aba"),
            ("", "weight"),
        ];
        for (pattern, name) in yes {
            assert!(matcher(&[pattern.to_owned()])(name), "{pattern} {name}");
        }
        for (pattern, name) in no {
            assert!(!matcher(&[pattern.to_owned()])(name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_nearest_pattern_is_proposed() {
        let names = ["layers.0.weight", "layers.0.bias", "head.bias"].map(str::to_owned);
        let help = |pattern| nearest_help(pattern, &names);
        assert_eq!(help("layer.0.**")[0], "did you mean `layers.0.**`?");
        assert_eq!(help("head.bais")[0], "did you mean `head.bias`?");
        let all = "the model's parameters are `layers.0.weight`, `layers.0.bias`, `head.bias`";
        assert_eq!(help("something.else.**"), [all]);
    }
}
