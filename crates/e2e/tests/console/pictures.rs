//! Pictures of what a browser shows, for docs/images.

use brickyard_e2e::browser::Browser;
use std::path::PathBuf;

/// Where pictures go, if they are wanted.
#[derive(Debug)]
pub(crate) struct Pictures(Option<PathBuf>);

impl Pictures {
    pub(crate) fn of_environment() -> Self {
        let folder = std::env::var_os("BRICKYARD_SCREENSHOTS").map(PathBuf::from);
        // From the folder in which people type it.
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2);
        Self(folder.map(|it| root.map_or_else(|| it.clone(), |root| root.join(&it))))
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn take(&self, browser: &Browser, name: &str) {
        if let Some(folder) = &self.0 {
            browser.picture(&folder.join(format!("{name}.png")));
        }
    }
}
