//! A client: the seeds, the bounds, and the tables in use.
//!
//! In:  [`Options`]. Out: [`Table`]s.

use crate::{
    Error, Options, Table,
    budget::Budget,
    refresh::Hint,
    router::{Router, Shared},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{runtime::Handle, time::timeout};

/// A connection to a cluster, or rather as many as it takes. Cheap to clone; clones are one client.
///
/// ```no_run
/// # async fn example() -> Result<(), brickyard_client::Error> {
/// use brickyard_client::{Client, Options};
///
/// let client = Client::connect(Options::new(["10.0.0.1:6379", "10.0.0.2:6379"])).await?;
/// client.table("sessions").set("ann", "logged in").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
    /// By name; nothing is the table that the server starts the user in.
    tables: Arc<Mutex<BTreeMap<Option<String>, Weak<Router>>>>,
    /// Keeps the connections that were made first.
    home: Arc<Router>,
}

impl Client {
    /// Finds the cluster: asks the seeds, one after the other, until one answers.
    ///
    /// The connections run on the runtime that this is called on; calls may be made from any thread.
    ///
    /// # Errors
    /// - [`Error::Unreachable`]: no seed answers.
    /// - [`Error::Refused`]: they do, and the user or the password is wrong.
    ///
    /// ```no_run
    /// # async fn example() {
    /// use brickyard_client::{Client, Error, Options};
    /// match Client::connect(Options::new(["127.0.0.1:6379"])).await {
    ///     Ok(client) => println!("{client:?}"),
    ///     Err(Error::Refused { text }) => println!("not let in: {text}"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// # }
    /// ```
    pub async fn connect(options: Options) -> Result<Self, Error> {
        let deadline = options.deadline;
        let shared = Arc::new(Shared {
            budget: Budget::new(options.in_flight_max, options.in_flight_bytes_max),
            options,
            runtime: Handle::current(),
            is_closed: AtomicBool::new(false),
        });
        let home = Router::new(Arc::clone(&shared), None);
        let found = timeout(deadline, home.refresh(&Hint::default())).await;
        let late = || Error::unreachable(format!("no seed gave a map within {deadline:?}"));
        match found.unwrap_or_else(|_| Err(late())) {
            Ok(()) => {}
            // A server without maps serves every key itself.
            Err(error) if error.prefix() == Some("ERR") => {}
            Err(error) => return Err(error),
        }
        let tables = BTreeMap::from([(None, Arc::downgrade(&home))]);
        Ok(Self {
            shared,
            tables: Arc::new(Mutex::new(tables)),
            home,
        })
    }

    /// The table `name`. Nothing is asked: whether there is such a table shows when it is first used.
    ///
    /// ```no_run
    /// # async fn example(client: brickyard_client::Client) -> Result<(), brickyard_client::Error> {
    /// let orders = client.table("orders");
    /// println!("{} orders", orders.len().await?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn table(&self, name: impl Into<String>) -> Table {
        let name = Some(name.into());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(router) = tables.get(&name).and_then(Weak::upgrade) {
            return Table::new(router);
        }
        tables.retain(|_, router| router.strong_count() > 0);
        let router = Router::new(Arc::clone(&self.shared), name.clone());
        router.refresh_soon(Hint::default());
        tables.insert(name, Arc::downgrade(&router));
        Table::new(router)
    }

    /// The table that the server starts the user in: the one that the user is bound to, or `default`.
    ///
    /// ```no_run
    /// # async fn example(client: brickyard_client::Client) -> Result<(), brickyard_client::Error> {
    /// client.home_table().set("key", "value").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn home_table(&self) -> Table {
        Table::new(Arc::clone(&self.home))
    }

    /// Takes no more calls: later ones are [`Error::Closed`]. Those in flight come to their end; connections
    /// close when the last handle of the client and its tables is dropped.
    ///
    /// ```no_run
    /// # async fn example(client: brickyard_client::Client) {
    /// client.close();
    /// assert_eq!(client.home_table().get("key").await, Err(brickyard_client::Error::Closed));
    /// # }
    /// ```
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
    }
}

impl Router {
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed.load(Ordering::Acquire)
    }
}
