//! Patterns over the names of parameters, for `train.freeze` and `train.fresh`.

use crate::device::Backend;
use crate::diag::{did_you_mean, list};
use crate::ops::{Module, Path};

/// Matches any number of parts of a name, also none.
const ANY_PARTS: &str = "**";

/// Whether `pattern` matches a dotted name: `*` stands for any characters of one part, `**` for any number of parts.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts: Vec<&str> = pattern.split('.').collect();
    // Several `**` in a row are equivalent to one, and would be slow to match.
    parts.dedup_by(|one, before| one == before && *one == ANY_PARTS);
    let name: Vec<&str> = name.split('.').collect();
    parts_match(&parts, &name)
}

/// Whether one of `patterns` matches `name`.
pub fn any_matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

fn parts_match(pattern: &[&str], name: &[&str]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([first, rest @ ..], _) if *first == ANY_PARTS => {
            (0..=name.len()).any(|left_out| parts_match(rest, &name[left_out..]))
        }
        ([first, rest @ ..], [part, others @ ..]) => {
            part_matches(first, part) && parts_match(rest, others)
        }
        _ => false,
    }
}

fn part_matches(pattern: &str, part: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == part;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = part.strip_prefix(start);
    let Some(mut inner) = inner.and_then(|part| part.strip_suffix(end)) else {
        return false;
    };
    // Greedy search: the first position of each piece leaves the most text for the following ones.
    middle.split('*').all(|piece| match inner.find(piece) {
        Some(at) => {
            inner = &inner[at + piece.len()..];
            true
        }
        None => false,
    })
}

/// Error: patterns in a key of `[train]` that match no name. It is found by the run if the planner cannot know the
/// names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unmatched(String);

/// Checks that every pattern of the key `train.KEY` matches one of the `names` of the model, or of the `others`.
///
/// # Errors
/// All patterns that match nothing.
pub fn check(
    key: &str,
    patterns: &[String],
    names: &[String],
    others: &[String],
) -> Result<(), Unmatched> {
    let is_matched = |pattern: &str| {
        let mut all = names.iter().chain(others);
        all.any(|name| matches(pattern, name))
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
        Err(Unmatched(told.join("\n")))
    }
}

/// Freezes the parameters of a model that match `patterns`.
///
/// # Errors
/// A pattern matches no parameter, or the patterns match all parameters.
pub fn freeze<D: Backend>(
    module: &mut dyn Module<D>,
    patterns: &[String],
) -> Result<(), Unmatched> {
    let mut names = Vec::new();
    module.visit(&Path::root(), &mut |name, _| names.push(name.to_owned()));
    check("freeze", patterns, &names, &[])?;
    if names.iter().all(|name| any_matches(patterns, name)) {
        return Err(Unmatched(ALL_FROZEN.to_owned()));
    }
    module.visit(&Path::root(), &mut |name, parameter| {
        if any_matches(patterns, name) {
            parameter.freeze();
        }
    });
    Ok(())
}

/// Error of freezing all parameters.
pub const ALL_FROZEN: &str =
    "`train.freeze` matches all parameters of the model, nothing is left to train";

/// Advice for a pattern that matches none of `names`: the most similar matching pattern, and the names.
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
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in no {
            assert!(!matches(pattern, name), "{pattern} {name}");
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
