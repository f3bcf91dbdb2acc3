//! Reads of what is kept under leases.

use super::Table;
use crate::cache::CacheCounts;
use crate::command::{Place, Shape};
use crate::kept::Kept;
use crate::{Error, Pending, convert};
use brickyard_routing::slot;
use std::sync::Arc;

impl Table {
    /// What the cache of this table has done, and holds; nothing unless reads are [`ReadPolicy::Kept`](crate::ReadPolicy::Kept).
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), brickyard_client::Error> {
    /// use brickyard_client::{Client, Options, ReadPolicy};
    ///
    /// let options = Options {
    ///     reads: ReadPolicy::Kept { bytes: 64 << 20 },
    ///     ..Options::new(["127.0.0.1:6379"])
    /// };
    /// let table = Client::connect(options).await?.table("people");
    /// table.command(&["TABLE", "CREATE", "people", "LEASES", "on"]).await.ok();
    /// table.set("person:7", "ann").await?;
    /// for _ in 0..1000 {
    ///     // One of them asks the cluster, and those that come when a tenth of a second has passed.
    ///     table.get("person:7").await?;
    /// }
    /// println!("{:?}", table.cache_counts());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cache_counts(&self) -> CacheCounts {
        let kept = self.router.setting.kept.as_deref();
        kept.map(Kept::counts).unwrap_or_default()
    }

    /// The value of a key, from the cache if it has it.
    pub(super) fn get_kept(&self, kept: &Arc<Kept>, key: &[u8]) -> Pending<Option<Vec<u8>>> {
        if self.router.is_closed() {
            return Pending::failed(Error::Closed);
        }
        let asked = match kept.look(key) {
            Ok(value) => return Pending::known(value),
            Err(asked) => asked,
        };
        let shape = Shape {
            is_read: true,
            place: Place::Primary(slot(key)),
        };
        let reply = self.call(
            shape,
            key,
            &[b"LEASE".as_slice(), b"GET", key],
            convert::leased,
        );
        let (kept, key) = (Arc::clone(kept), key.to_vec());
        Pending::joined(async move {
            let (value, lease) = reply.await?;
            kept.fill(&key, asked, value.as_deref(), lease);
            Ok(value)
        })
    }
}
