//! One text, of a script or of a library of functions, and its name.

use brickyard_script::{ShaText, sha1_hex};

/// A script's text and its name.
#[derive(Debug)]
pub(crate) struct ScriptText {
    pub(crate) sha: ShaText,
    pub(crate) body: Box<[u8]>,
}

impl ScriptText {
    pub(crate) fn new(body: &[u8]) -> Self {
        Self {
            sha: sha1_hex(body),
            body: body.into(),
        }
    }
}
