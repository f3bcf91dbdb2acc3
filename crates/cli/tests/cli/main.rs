//! The program `brickyard` from outside: real processes, real sockets, a real server.
//!
//! Not here: the server's own behaviour (`e2e`), what a format means (unit tests beside its reader).

mod cert;
mod load_dump;
mod program;
mod support;
