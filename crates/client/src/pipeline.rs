//! Several commands that travel together.
//!
//! In:  commands, one call each. Out: a result for each, in their order.

use crate::{
    Error, Table,
    pending::{Pending, join},
};
use brickyard_wire::Value;

/// Commands that are sent together, each to its own brick, and answered together.
///
/// It saves round trips and nothing else: each command has its own outcome, and others' commands may come in
/// between. Commands on one slot are executed in their order, unless one of them has to be sent again.
///
/// ```no_run
/// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
/// let mut pipeline = table.pipeline();
/// for page in ["start", "about"] {
///     pipeline = pipeline.command(&["INCR", page]);
/// }
/// for reply in pipeline.send().await? {
///     println!("{:?}", reply?.integer());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before it is sent"]
pub struct Pipeline {
    table: Table,
    commands: Vec<Vec<Vec<u8>>>,
}

impl Pipeline {
    pub(crate) const fn new(table: Table) -> Self {
        Self {
            table,
            commands: Vec::new(),
        }
    }

    /// Adds a command.
    ///
    /// ```no_run
    /// # fn example(table: brickyard_client::Table) {
    /// let pipeline = table.pipeline().command(&["SET", "key", "value"]);
    /// # }
    /// ```
    pub fn command<A: AsRef<[u8]>>(mut self, words: &[A]) -> Self {
        let words = words.iter().map(|word| word.as_ref().to_vec());
        self.commands.push(words.collect());
        self
    }

    /// Sends them all.
    ///
    /// ```no_run
    /// # async fn example(table: brickyard_client::Table) -> Result<(), brickyard_client::Error> {
    /// let replies = table.pipeline().command(&["GET", "key"]).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn send(self) -> Pending<Vec<Result<Value, Error>>> {
        let calls = self.commands.iter().map(|words| self.table.command(words));
        let calls: Vec<Pending<Value>> = calls.collect();
        Pending::joined(async move { Ok(join(calls).await) })
    }
}
