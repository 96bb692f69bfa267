//! Finds the nearest valid name to a mistyped one.

/// Largest number of edits between a mistyped name and the suggested one.
const MAX_EDITS: usize = 2;

/// Returns the valid name nearest to `word`: at most two edits away (a swap of adjacent letters is one edit), and fewer
/// edits than the shorter of the two has letters. Of equally near names the first; `None` if no name is near.
pub fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    among
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(edits, name)| *edits <= MAX_EDITS && *edits < letters.min(name.chars().count()))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The advice "did you mean …?", if a valid name is near.
pub fn did_you_mean<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, among).map(|name| format!("did you mean `{name}`?"))
}

/// Names in backticks, separated by commas; a long list is cut and ends with the number of omitted names.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    list_of(names, 20)
}

/// Like [`list`], with at most `most` names.
pub fn list_of<'a>(names: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names
        .iter()
        .take(most)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().checked_sub(most) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_wins_and_swapped_letters_count_once() {
        let names = ["mlp", "unet", "map"];
        assert_eq!(nearest("mpl", names), Some("mlp"));
        assert_eq!(nearest("unte", names), Some("unet"));
    }

    #[test]
    fn nothing_is_suggested_when_nothing_is_near() {
        assert_eq!(nearest("resnet", ["mlp", "ddpm-unet"]), None);
        assert_eq!(nearest("a", ["b", "c"]), None);
    }
}
