//! The files of an append-only directory, in their order.
//!
//! In:  the text of its manifest. Out: names of files: the base first, then what was appended.

/// The manifest makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the manifest is '{text}', and not of the form 'file NAME seq N type b|h|i'"
)]
pub struct ManifestError {
    /// The line, from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
}

/// The files that the manifest names, base first, those of the past left out.
///
/// # Errors
/// [`ManifestError`]: a line is of another form.
pub fn files_of(manifest: &str) -> Result<Vec<String>, ManifestError> {
    let mut files = Vec::new();
    for (index, text) in manifest.lines().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [] => {}
            // A name alone: a path would lead out of the directory.
            ["file", name, "seq", number, "type", kind] if !name.contains('/') => {
                let rank = match kind {
                    "b" => Some(0),
                    "i" => Some(1),
                    "h" => None,
                    _ => return Err(wrong(index, text)),
                };
                let number: u64 = number.parse().map_err(|_| wrong(index, text))?;
                files.extend(rank.map(|rank| (rank, number, name.to_owned())));
            }
            _ => return Err(wrong(index, text)),
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, _, name)| name).collect())
}

fn wrong(index: usize, text: &str) -> ManifestError {
    ManifestError {
        line: index + 1,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod manifest_test {
    use super::files_of;

    #[test]
    fn base_comes_first_and_the_past_is_left_out() {
        let manifest = "file a.2.incr.aof seq 2 type i\nfile a.1.base.rdb seq 1 type h\n\
                        file a.10.incr.aof seq 10 type i\nfile a.2.base.rdb seq 2 type b\n";
        let files = files_of(manifest).unwrap();
        assert_eq!(files, ["a.2.base.rdb", "a.2.incr.aof", "a.10.incr.aof"]);
        assert_eq!(
            files_of("file a seq 1 type i\nfile ../b seq 2 type i")
                .unwrap_err()
                .line,
            2
        );
        assert_eq!(files_of("file a seq 1 type x").unwrap_err().line, 1);
    }
}
