//! The bugs that this build has: none. `cargo xtask sabotage` writes the list anew in its copy of the workspace.

/// A bug that is in the code, behind a question ([`is_on`](crate::is_on)) that has its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    /// The name.
    pub name: &'static str,
    /// The checkers that find it within a few seeds.
    pub quick: &'static [&'static str],
    /// The checkers that find it with patience.
    pub slow: &'static [&'static str],
}

/// All of them.
pub const PLANTED: &[Planted] = &[];
