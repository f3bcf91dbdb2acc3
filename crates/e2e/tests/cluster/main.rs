//! Several nodes: forming, serving through any of them, failures while clients write and read.

#![expect(clippy::unwrap_used, reason = "a test's failure is its message")]

mod acl;
mod attackers;
mod backup;
mod channels;
mod copies;
mod dev;
mod digest;
mod figure9;
mod forming;
mod full_disk;
mod functions;
mod gateway;
mod grow;
mod hash_functions;
mod hashes;
mod heal;
mod hot;
mod idle;
mod import;
mod layout;
mod leases;
mod limits;
mod link;
mod lookups;
mod offline;
mod once;
mod operators_day;
mod recover;
mod secure;
mod split;
mod survival;
mod tools;
mod tracking;
mod transactions;
mod two_tables;
mod upgrade;
mod watching;
