//! The first line of a script, `#!lua flags=no-writes,allow-oom`, by which it says what it needs.

/// What a script with such a line asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shebang {
    /// It writes nothing.
    pub no_writes: bool,
    /// It may make a table grow that is at its bound.
    pub allow_oom: bool,
}

impl Shebang {
    /// That of a script; `None`: it has no such line.
    ///
    /// # Errors
    /// Redis's, for another language, and for options and flags that there are not.
    pub fn parse(body: &[u8]) -> Result<Option<Self>, String> {
        if !body.starts_with(b"#!") {
            return Ok(None);
        }
        let end = body.iter().position(|it| *it == b'\n');
        let line = end.and_then(|end| body.get(..end));
        let line = line.ok_or("ERR Invalid script shebang")?;
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let language = words.next().unwrap_or_default();
        if language != "#!lua" {
            return Err(format!(
                "ERR Unexpected engine in script shebang: {language}"
            ));
        }
        let mut shebang = Self::default();
        for word in words {
            let Some(flags) = word.strip_prefix("flags=") else {
                return Err(format!("ERR Unknown lua shebang option: {word}"));
            };
            for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
                match flag {
                    "no-writes" => shebang.no_writes = true,
                    "allow-oom" => shebang.allow_oom = true,
                    // Nothing is stale here, and all keys of a script are of one slot in any case.
                    "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                    _ => return Err(format!("ERR Unexpected flag in script shebang: {flag}")),
                }
            }
        }
        Ok(Some(shebang))
    }
}

#[cfg(test)]
#[path = "shebang_test.rs"]
mod shebang_test;
