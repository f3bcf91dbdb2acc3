//! Code that is wrong on purpose, behind a switch: what deliberate bugs and mutants share.
//!
//! In:  a workspace, and edits of its files. Out: a copy below the target directory that has each edit as a choice, built
//! once, and a way to run what was built with one of them on.
//!
//! Not here: which edits (`sabotage`: a table; `mutants`: made from the syntax tree), and who has to notice.

pub(crate) mod choice;
pub(crate) mod copy;
pub(crate) mod patience;
pub(crate) mod programs;
