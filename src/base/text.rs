//! Small things about words: cases and plurals.

/// Returns `name` as a CSV column: every run of other characters than letters and digits becomes one `_`.
///
/// # Example
/// ```
/// assert_eq!(fieldtrial_kernels::base::text::snake_case("train.batch-size"), "train_batch_size");
/// ```
pub fn snake_case(name: &str) -> String {
    join_words(name, '_')
}

/// Returns `name` as a file name or an HTML id: lower case, every run of other characters than letters and digits
/// becomes one `-`.
pub fn kebab_case(name: &str) -> String {
    join_words(name, '-').to_lowercase()
}

fn join_words(name: &str, joint: char) -> String {
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(&joint.to_string())
}

/// Returns `count` with `noun` in the right number: `1 cell`, `2 cells`.
pub fn count(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else if noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") && noun != "epoch"
    {
        format!("{count} {noun}es")
    } else if let Some(stem) = noun
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(is_vowel))
    {
        format!("{count} {stem}ies")
    } else {
        format!("{count} {noun}s")
    }
}

fn is_vowel(letter: char) -> bool {
    "aeiou".contains(letter)
}

/// The text with its first letter in upper case.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_columns_and_files() {
        assert_eq!(snake_case("train.optimizer.lr"), "train_optimizer_lr");
        assert_eq!(kebab_case("Train loss (val)"), "train-loss-val");
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(count(1, "cell"), "1 cell");
        assert_eq!(count(0, "batch"), "0 batches");
        assert_eq!(count(3, "axis-value"), "3 axis-values");
        assert_eq!(
            (count(2, "study"), count(2, "day")),
            ("2 studies".into(), "2 days".into())
        );
    }
}
