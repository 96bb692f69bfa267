//! [`Template`]: an argument of a command with placeholders in braces.

/// Names of placeholders whose values are known only when a run begins.
pub const RUN_PLACEHOLDERS: [&str; 6] = ["seed", "threads", "device", "dataset", "split", "folder"];

/// An argument, split into text and placeholders (names in braces).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(String),
}

impl Template {
    /// Parses an argument with placeholders, such as `--lr={lr}`.
    ///
    /// # Errors
    /// A message: a brace without its partner.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
            } else if brace == "}" {
                return Err(format!(
                    "`{}` has no `{{`; `}}}}` stands for `}}`",
                    &rest[at..]
                ));
            } else {
                let Some((name, after)) = after.split_once('}') else {
                    return Err(format!(
                        "`{}` has no `}}`; `{{{{` stands for `{{`",
                        &rest[at..]
                    ));
                };
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(Piece::Name(name.trim().to_owned()));
                rest = after;
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self(pieces))
    }

    /// Names of the placeholders, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(&**name),
            Piece::Text(_) => None,
        })
    }

    /// The argument with every placeholder replaced by its value; the first error of `value`.
    pub fn filled<E>(&self, value: impl Fn(&str) -> Result<String, E>) -> Result<String, E> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Name(name) => value(name),
        });
        pieces.collect()
    }

    /// Replaces placeholders by their values; the result is a template again. A placeholder whose `value` is `None`
    /// stays.
    pub fn partly_filled<E>(
        &self,
        value: impl Fn(&str) -> Result<Option<String>, E>,
    ) -> Result<String, E> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Ok(escaped(text)),
            Piece::Name(name) => {
                let value = value(name)?;
                Ok(value.map_or_else(|| format!("{{{name}}}"), |value| escaped(&value)))
            }
        });
        pieces.collect()
    }

    /// The name, if the argument consists of a single placeholder.
    pub fn only_name(&self) -> Option<&str> {
        match &self.0[..] {
            [Piece::Name(name)] => Some(name),
            _ => None,
        }
    }
}

/// Escapes braces, so that `text` is read as a template without placeholders.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_braces_and_double_braces_are_text() {
        let template = Template::read("--a={lr}{{x}}={train.batch-size}").expect("a template");
        let names: Vec<&str> = template.names().collect();
        assert_eq!(names, ["lr", "train.batch-size"]);
        let filled = template.filled(|name| Ok::<_, ()>(name.to_uppercase()));
        assert_eq!(filled.as_deref(), Ok("--a=LR{x}=TRAIN.BATCH-SIZE"));
        assert_eq!(template.only_name(), None);
        let partly = template.partly_filled(|name| Ok::<_, ()>((name == "lr").then(|| "{".into())));
        assert_eq!(partly.as_deref(), Ok("--a={{{{x}}={train.batch-size}"));
        let alone = Template::read("{amp}").expect("a template");
        assert_eq!(alone.only_name(), Some("amp"));
    }

    #[test]
    fn a_brace_without_its_partner_is_named() {
        assert_eq!(
            Template::read("a{b").unwrap_err(),
            "`{b` has no `}`; `{{` stands for `{`"
        );
        assert_eq!(
            Template::read("a}b").unwrap_err(),
            "`}b` has no `{`; `}}` stands for `}`"
        );
    }
}
