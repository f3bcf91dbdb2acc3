//! Puts a section into a page, between its markers.

use anyhow::{Context, bail};
use std::{fs, path::Path};

/// Replaces what stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`.
pub(crate) fn replace(path: &Path, name: &str, body: &str) -> anyhow::Result<()> {
    let page = fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read {}; run this from the top of the repository",
            path.display()
        )
    })?;
    let page = replaced(&page, name, body).with_context(|| format!("in {}", path.display()))?;
    fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(page: &str, name: &str, body: &str) -> anyhow::Result<String> {
    let (begin, end) = (
        format!("<!-- {name}:begin -->\n"),
        format!("<!-- {name}:end -->"),
    );
    let Some((before, rest)) = page.split_once(&begin) else {
        bail!(
            "the marker {} is missing; put it where the section belongs",
            begin.trim_end()
        );
    };
    let Some((_, after)) = rest.split_once(&end) else {
        bail!(
            "the marker {end} is missing; put it behind {}",
            begin.trim_end()
        );
    };
    Ok(format!("{before}{begin}{}\n{end}{after}", body.trim_end()))
}

#[cfg(test)]
#[path = "page_test.rs"]
mod page_test;
