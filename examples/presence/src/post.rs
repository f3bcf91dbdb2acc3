//! A message on its way to a user, through the gateway where he is signed on.
//!
//! A user who moves at that moment may be missed: he is looked for once more, and then the sender is told.

use crate::gateway::Gateway;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long another gateway may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends a message; what its sender is answered.
pub(crate) async fn send(gateway: &Gateway, to: &str, from: &str, text: &str) -> String {
    for _ in 0..2 {
        let address = match gateway.bindings.find(to).await {
            Ok(Some(address)) => address,
            Ok(None) => break,
            Err(error) => return format!("AGAIN {error}"),
        };
        let is_delivered = if address == gateway.address {
            gateway.deliver(to, from, text)
        } else {
            let line = format!("DELIVER {to} {from} {text}\n");
            let asked = timeout(PATIENCE, ask(&address, &line)).await;
            matches!(asked, Ok(Ok(true)))
        };
        if is_delivered {
            return "OK".to_owned();
        }
    }
    "NOWHERE".to_owned()
}

async fn ask(address: &str, line: &str) -> io::Result<bool> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    stream.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok(answer.trim_end() == "OK")
}
