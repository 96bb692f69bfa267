//! Text helpers: cases, plurals, line breaks, escaping of untrusted text.

use std::borrow::Cow;

/// Largest length of a reason or warning, in characters.
const LONGEST: usize = 300;

/// Returns `name` as a CSV column: every run of characters other than letters and digits becomes one `_`.
///
/// # Example
/// ```
/// assert_eq!(fieldtrial_kernels::base::text::snake_case("train.batch-size"), "train_batch_size");
/// ```
pub fn snake_case(name: &str) -> String {
    join_words(name, '_')
}

/// Returns `name` as a file name or an HTML id: lower case, every run of characters other than letters and digits
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

/// Returns `count` with `noun` in singular or plural: `1 cell`, `2 cells`.
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

/// Breaks a line into lines of at most `width` columns: between groups (separated by two spaces), and inside a group
/// that is too long, between words. Lines after the first begin with `indent` spaces; a longer word stays whole. ANSI
/// colour codes have no width.
///
/// # Example
/// ```
/// use fieldtrial_kernels::base::text::wrapped;
/// assert_eq!(wrapped("batch-size=8  65.2 ms/step  in 4.1 s", 28, 2), "batch-size=8  65.2 ms/step\n  in 4.1 s");
/// ```
pub fn wrapped(line: &str, width: usize, indent: usize) -> String {
    let start = &line[..line.len() - line.trim_start().len()];
    let mut text = start.to_owned();
    let mut used = start.len();
    let mut put = |joint: &str, piece: &str| {
        let joint = if used == start.len() { "" } else { joint };
        if used > start.len() && used + joint.len() + columns(piece) > width {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else {
            text.push_str(joint);
            used += joint.len();
        }
        text.push_str(piece);
        used += columns(piece);
    };
    for group in line
        .trim_start()
        .split("  ")
        .filter(|group| !group.is_empty())
    {
        if indent + columns(group) <= width {
            put("  ", group);
            continue;
        }
        for (number, word) in group.split(' ').enumerate() {
            put(if number == 0 { "  " } else { " " }, word);
        }
    }
    text
}

/// Whether a terminal interprets the character instead of showing it: control characters, and those that change the
/// direction of writing.
fn is_hidden(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The character, or its escape code if a terminal would interpret it: `\u{1b}`.
fn shown(letter: char) -> impl Iterator<Item = char> {
    let is_hidden = is_hidden(letter);
    let code = is_hidden.then(|| letter.escape_unicode());
    let plain = (!is_hidden).then_some(letter);
    plain.into_iter().chain(code.into_iter().flatten())
}

/// Escapes all characters in an untrusted text that a terminal would interpret, so that it can neither move the cursor
/// nor hide other text. Line breaks and tabs stay.
///
/// # Example
/// ```
/// use fieldtrial_kernels::base::text::escape_control;
/// assert_eq!(escape_control("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// ```
pub fn escape_control(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| !is_hidden(letter) || matches!(letter, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut letters = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        // Texts from Windows have `\r\n` as line breaks; that `\r` is kept.
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        if is_plain(letter) || ends_line {
            out.push(letter);
        } else {
            out.extend(shown(letter));
        }
    }
    Cow::Owned(out)
}

/// As [`escape_control`], for an owned text, which is returned without a copy if nothing has to be escaped.
pub fn into_escaped(text: String) -> String {
    let changed = match escape_control(&text) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    changed.unwrap_or(text)
}

/// Like [`escape_control`], but converts `\r\n` to `\n`, for texts from Windows.
pub fn escape_control_crlf_to_lf(text: &str) -> String {
    into_escaped(text.replace("\r\n", "\n"))
}

/// A reason or a warning for tables and terminals: one line of at most 300 characters, shortened with `…`, with control
/// characters escaped.
///
/// # Example
/// ```
/// use fieldtrial_kernels::base::text::one_line;
/// assert_eq!(one_line("no\n\u{7}  data"), "no \\u{7} data");
/// ```
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().enumerate();
    let letters = words.flat_map(|(number, word)| {
        let joint = (number > 0).then_some(' ');
        joint.into_iter().chain(word.chars())
    });
    let mut letters = letters.flat_map(shown);
    let mut line: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// Width of a text in columns of a terminal, without ANSI colour codes.
fn columns(text: &str) -> usize {
    let mut is_escape = false;
    let letters = text.chars().filter(|letter| {
        is_escape |= *letter == '\u{1b}';
        let is_shown = !is_escape;
        is_escape &= *letter != 'm';
        is_shown
    });
    letters.count()
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
    fn a_long_line_breaks_between_groups_and_a_long_group_between_words() {
        assert_eq!(wrapped("a b  c d", 80, 2), "a b  c d");
        assert_eq!(wrapped("a b  c d  e", 8, 2), "a b  c d\n  e");
        assert_eq!(wrapped("  a: b c d e", 6, 4), "  a: b\n    c\n    d\n    e");
        assert_eq!(wrapped("toolongaword  b", 5, 1), "toolongaword\n b");
        let coloured = "\u{1b}[32m✓\u{1b}[0m ab  cd";
        assert_eq!(wrapped(coloured, 8, 2), coloured);
    }

    #[test]
    fn what_a_terminal_acts_on_is_shown_as_its_code() {
        assert!(matches!(escape_control("plain\ttext\n"), Cow::Borrowed(_)));
        assert_eq!(escape_control("a\r\nb\rc"), "a\r\nb\\u{d}c");
        assert_eq!(escape_control_crlf_to_lf("a\r\nb\rc"), "a\nb\\u{d}c");
        assert_eq!(
            escape_control("\u{9b}2J\u{202e}\u{7f}"),
            "\\u{9b}2J\\u{202e}\\u{7f}"
        );
        assert_eq!(one_line(" \u{1b}]0;x\u{7} \r\n y "), "\\u{1b}]0;x\\u{7} y");
    }

    #[test]
    fn a_reason_of_megabytes_is_cut() {
        let long = one_line(&"ä".repeat(4 << 20));
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.ends_with("ä…"), "{long}");
        let fits = "x".repeat(LONGEST);
        assert_eq!(one_line(&fits), fits);
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn nouns_are_singular_or_plural_by_count() {
        assert_eq!(count(1, "cell"), "1 cell");
        assert_eq!(count(0, "batch"), "0 batches");
        assert_eq!(count(3, "axis-value"), "3 axis-values");
        assert_eq!(
            (count(2, "study"), count(2, "day")),
            ("2 studies".into(), "2 days".into())
        );
    }
}
