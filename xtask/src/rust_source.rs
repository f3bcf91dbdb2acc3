//! Just enough of Rust's grammar to check rules that are about names: tokens, comments, paths.
//!
//! In: the text of a file. Out: its [`Token`]s without comments, strings and numbers; its comments;
//! the paths that it names, with `use` trees flattened.
//!
//! Not here: types, macros' insides as anything but tokens, name resolution. A rule that needs those
//! belongs to the compiler or to clippy.

/// An identifier or a punctuation character, and its line from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The line.
    pub line: usize,
    /// The identifier, or one character.
    pub text: String,
    /// The text of a string literal, without its quotes; `text` is then `"`.
    pub string: Option<String>,
}

impl Token {
    /// Whether this is the identifier or character `text`.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// A comment with its marks, and its line from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The line.
    pub line: usize,
    /// The text, `//` or `/*` included.
    pub text: String,
}

/// A file, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Everything that is not a comment, number, character or lifetime.
    pub tokens: Vec<Token>,
    /// The comments.
    pub comments: Vec<Comment>,
}

impl Source {
    /// Takes a file apart. Any text will do: what is not Rust gives odd tokens, not an error.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut lexer = Lexer {
            rest: text,
            line: 1,
            source: Self::default(),
        };
        while lexer.step() {}
        lexer.source
    }

    /// The source without items that only tests see (`#[cfg(test)]`).
    #[must_use]
    pub fn without_tests(&self) -> Self {
        let is_test_attribute = |at: usize| {
            let texts = self.tokens[at..].iter().map(|token| token.text.as_str());
            texts.take(7).eq(["#", "[", "cfg", "(", "test", ")", "]"])
        };
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if is_test_attribute(at) {
                at = self.end_of_item(at + 7);
            } else {
                tokens.push(self.tokens[at].clone());
                at += 1;
            }
        }
        Self {
            tokens,
            comments: self.comments.clone(),
        }
    }

    /// The index after the item that begins at `at`: after its `;`, or after its braces.
    fn end_of_item(&self, mut at: usize) -> usize {
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(at) {
            at += 1;
            match token.text.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && token.is("}") {
                        return at;
                    }
                }
                ";" if depth == 0 => return at,
                _ => {}
            }
        }
        at
    }

    /// Every path that is named, with its line: `use a::{b, c::d}` gives `a::b` and `a::c::d`.
    #[must_use]
    pub fn paths(&self) -> Vec<(usize, Vec<&str>)> {
        let mut paths = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if self.tokens[at].is_name() {
                at = self.push_paths(at, &[], &mut paths);
            } else {
                at += 1;
            }
        }
        paths
    }

    /// Pushes the paths that begin with the name at `at`, below `parents`; returns what follows.
    fn push_paths<'a>(
        &'a self,
        mut at: usize,
        parents: &[&'a str],
        paths: &mut Vec<(usize, Vec<&'a str>)>,
    ) -> usize {
        let line = self.tokens[at].line;
        let mut path = parents.to_vec();
        path.push(&self.tokens[at].text);
        at += 1;
        while self.is_at(at, ":") && self.is_at(at + 1, ":") {
            at += 2;
            if self.tokens.get(at).is_some_and(Token::is_name) {
                path.push(&self.tokens[at].text);
                at += 1;
            } else if self.is_at(at, "{") {
                return self.push_group(at + 1, &path, paths);
            } else {
                break;
            }
        }
        paths.push((line, path));
        at
    }

    fn push_group<'a>(
        &'a self,
        mut at: usize,
        parents: &[&'a str],
        paths: &mut Vec<(usize, Vec<&'a str>)>,
    ) -> usize {
        while let Some(token) = self.tokens.get(at) {
            if token.is("}") {
                return at + 1;
            }
            at = if token.is_name() {
                self.push_paths(at, parents, paths)
            } else {
                at + 1
            };
        }
        at
    }

    fn is_at(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    /// The modules that the file declares and does not contain: name, and `#[path]` if given.
    #[must_use]
    pub fn child_modules(&self) -> Vec<(&str, Option<&str>)> {
        let mut modules = Vec::new();
        let mut path = None;
        for (at, token) in self.tokens.iter().enumerate() {
            if token.is("path") && self.is_at(at + 1, "=") {
                path = self.tokens.get(at + 2).and_then(|it| it.string.as_deref());
            }
            if token.is("mod") && self.is_at(at + 2, ";") {
                modules.push((self.tokens[at + 1].text.as_str(), path));
            }
            if token.is(";") || token.is("{") || token.is("}") {
                path = None;
            }
        }
        modules
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    source: Source,
}

impl<'a> Lexer<'a> {
    /// Reads one thing; says whether there was one.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            let len = self.rest.find('\n').unwrap_or(self.rest.len());
            self.comment(len);
        } else if self.rest.starts_with("/*") {
            self.comment(block_comment_len(self.rest));
        } else if let Some(hashes) = raw_string_hashes(self.rest) {
            self.raw_string(hashes);
        } else if first == '"' {
            self.string();
        } else if self.rest.starts_with("b\"") || self.rest.starts_with("c\"") {
            self.take(1);
            self.string();
        } else if self.rest.starts_with("b'") {
            self.take(1);
            self.quote();
        } else if first == '\'' {
            self.quote();
        } else if first.is_alphabetic() || first == '_' {
            let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
            self.token(name);
        } else if first.is_ascii_digit() {
            self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        } else {
            let text = self.take(first.len_utf8());
            if !first.is_whitespace() {
                self.token(text);
            }
        }
        true
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let len = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        self.take(len)
    }

    fn token(&mut self, text: &str) {
        self.source.tokens.push(Token {
            line: self.line,
            text: text.to_owned(),
            string: None,
        });
    }

    fn string_token(&mut self, string: &str) {
        self.source.tokens.push(Token {
            line: self.line,
            text: "\"".to_owned(),
            string: Some(string.to_owned()),
        });
    }

    fn comment(&mut self, len: usize) {
        let line = self.line;
        let text = self.take(len).to_owned();
        self.source.comments.push(Comment { line, text });
    }

    /// `"..."` with escapes.
    fn string(&mut self) {
        let mut is_escaped = false;
        let end = self.rest[1..].find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let len = end.map_or(self.rest.len(), |end| end + 2);
        let text = self.take(len);
        self.string_token(text.trim_matches('"'));
    }

    /// `r#"..."#`, with `b` or `c` before it.
    fn raw_string(&mut self, hashes: usize) {
        let open = self.rest.find('"').unwrap_or_default() + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = self.rest[open..].find(&close);
        let len = end.map_or(self.rest.len(), |end| open + end + close.len());
        let text = self.take(len);
        let inside = &text[open..len.saturating_sub(close.len()).max(open)];
        self.string_token(inside);
    }

    /// A character, which is skipped, or a lifetime, of which the quote is.
    fn quote(&mut self) {
        let mut after = self.rest[1..].chars();
        match (after.next(), after.next()) {
            (Some('\\'), Some(escaped)) => {
                let skipped = 2 + escaped.len_utf8();
                let end = self.rest[skipped..].find('\'').unwrap_or_default();
                self.take(skipped + end + 1);
            }
            (Some(inside), Some('\'')) => {
                self.take(2 + inside.len_utf8());
            }
            _ => {
                self.take(1);
                self.take_while(|c| c.is_alphanumeric() || c == '_');
            }
        }
    }
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The number of `#` of the raw string that `text` begins with.
fn raw_string_hashes(text: &str) -> Option<usize> {
    let text = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let after = text.strip_prefix('r')?;
    let hashes = after.find(|c| c != '#')?;
    after[hashes..].starts_with('"').then_some(hashes)
}

#[cfg(test)]
#[path = "rust_source_test.rs"]
mod rust_source_test;
