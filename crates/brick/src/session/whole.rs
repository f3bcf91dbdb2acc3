//! Commands on the table as a whole: every brick has its share.
//!
//! At the node port the shares of all bricks make the reply; at a brick's own port, as at a node of
//! a Redis cluster, the reply is that brick's share alone and clients add up.

use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::core::{Core, TableState};
use crate::effect::Port;
use crate::forward::{Origin, Token, Work};
use crate::gather::{Gather, Join, REPLY_TOO_LONG};
use crate::log::KeyRef;
use crate::output::Gate;
use crate::random::Random;
use crate::settings::Settings;
use crate::view::PendingClear;
use crate::watch::Version;
use brickyard_command::request::{ClusterCommand, ScanArgs, WaitArgs, parse_flush};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, glob, table::flag};
use brickyard_routing::{Cursor, Member, TableMap};
use brickyard_table::{Found, KeyHash, ScanPosition};
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, Slot, UnixMillis};
use brickyard_wire::{Protocol, Reply};

/// Bytes of a key in a list, besides its own, about.
const BULK_BYTES: usize = 16;

/// Keys that a scan visits between two looks at how many bytes it has found.
const SCAN_STEP: usize = 256;

/// Bytes of keys after which a scan ends, whatever its COUNT is: it is but a hint, and the loop has
/// others to serve.
const SCAN_BYTES_MAX: usize = 4 << 20;

impl Brick {
    pub(super) fn execute_whole(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        if let Err(error) = check(spec, *args) {
            return self.refuse(id, Some(spec), &error);
        }
        let connection = &self.connections[id.0 as usize];
        let (table, protocol) = (connection.session.table, connection.session.protocol);
        if self.core.table(table).is_none() {
            return self.refuse(id, Some(spec), &crate::keyed::dropped_table());
        }
        // What the client wrote on its way to other bricks must be there before it is counted.
        let is_everywhere = connection.accepted.port == Port::Node;
        let bricks: Vec<Member> = if !is_everywhere {
            vec![self.core.member()]
        } else if spec.id == CommandId::Scan {
            vec![self.scanned_brick(table, *args)]
        } else {
            self.core
                .primaries((spec.id != CommandId::Flushall).then_some(table))
        };
        let join = match spec.id {
            CommandId::Dbsize => Join::Sum,
            CommandId::Keys => Join::Concat,
            CommandId::Flushdb | CommandId::Flushall => Join::Ok,
            CommandId::Randomkey => Join::Any(self.core.random.next()),
            _ => Join::Only,
        };
        let gather = Gather::new(join, protocol, bricks.len())
            .within(self.output_bytes_max())
            .reading(spec.has(flag::READONLY));
        let token = self.open_gather(id, gather);
        self.connections[id.0 as usize].blocked = Some(Blocked::Drain);
        let share = match spec.id {
            CommandId::Flushall => self.flushed_by(id),
            _ => args.to_owned(),
        };
        for (part, brick) in bricks.into_iter().enumerate() {
            let token = Token {
                part: part as u32,
                ..token
            };
            let work = if is_everywhere {
                let named = self.core.share(spec, share.as_args(), table, brick);
                Work::Share(spec, share.clone(), named)
            } else {
                Work::Share(spec, share.clone(), 0)
            };
            if brick == self.core.member() {
                let origin = Origin {
                    member: brick,
                    token,
                };
                let writer = self.writer(id);
                self.run_for(work, table, protocol, origin, writer);
            } else {
                let until = self.core.deadline();
                self.forward(brick, token, table, protocol, work, until);
            }
        }
    }

    /// A command about what this brick holds: answered once what was prepared before has committed.
    pub(super) fn ask_own_share(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let session = &self.connections[id.0 as usize].session;
        let (table, protocol) = (session.table, session.protocol);
        let token = self.open_gather(id, Gather::new(Join::Only, protocol, 1));
        self.connections[id.0 as usize].blocked = Some(Blocked::Drain);
        let origin = Origin {
            member: self.core.member(),
            token,
        };
        let work = Work::Share(spec, args.to_owned(), 0);
        self.run_for(work, table, protocol, origin, self.writer(id));
    }

    /// `FLUSHALL` as the bricks get it: with the names of the tables that its user may write.
    fn flushed_by(&self, id: ConnectionId) -> OwnedArgs {
        let user = self.connections[id.0 as usize].session.user.as_ref();
        let names = self.core.table_by_name.keys().map(String::as_str);
        let writable = names.filter(|name| user.is_some_and(|user| user.rights(name).write));
        std::iter::once("flushall").chain(writable).collect()
    }

    /// The brick on which a scan goes on.
    fn scanned_brick(&self, table: usize, args: Args<'_>) -> Member {
        let Some(state) = self.core.table(table) else {
            return self.core.member();
        };
        let cursor = ScanArgs::parse(args).map_or(0, |scan| scan.cursor);
        let point = state.map.partitions().resume(Cursor::decode(cursor));
        state.owner(point.leaf as u32)
    }

    /// This brick's share of a command that is not about given keys.
    pub(crate) fn execute_share(
        &mut self,
        spec: &'static Spec,
        args: Args<'_>,
        share: u64,
        table: usize,
        protocol: Protocol,
        out: &mut Vec<u8>,
    ) -> Gate {
        let mut reply = Reply::new(out, protocol);
        if let Some(error) = self.core.cannot_share(spec, args, share, table) {
            reply.error_bytes(error.as_bytes());
            return Gate::OPEN;
        }
        match spec.id {
            CommandId::Dbsize => {
                reply.integer(self.core.table(table).map_or(0, TableState::keys) as i64)
            }
            CommandId::Keys => self.core.keys(table, args.at(1), &mut reply),
            CommandId::Randomkey => return self.core.random_key(table, &mut reply),
            CommandId::Scan => self.core.scan(table, args, &mut reply),
            CommandId::Flushdb => return self.core.flush(&[table], &mut reply),
            CommandId::Flushall => {
                let tables: Vec<usize> = args
                    .from(1)
                    .filter_map(|name| self.core.table_by_name.get(std::str::from_utf8(name).ok()?))
                    .copied()
                    .collect();
                return self.core.flush(&tables, &mut reply);
            }
            CommandId::ClusterCountkeysinslot | CommandId::ClusterGetkeysinslot => {
                self.core.slot_share(spec, args, table, &mut reply);
            }
            CommandId::Watch => return self.core.versions(table, args, out),
            CommandId::ClientList | CommandId::ClientKill => {
                self.client_share(spec, args, &mut reply)
            }
            _ => reply.error("ERR this command has no share of a brick"),
        }
        Gate::OPEN
    }

    /// A reply in parts is whole; some mean more than they say.
    pub(crate) fn on_gathered(&mut self, token: Token, join: Join, whole: Vec<u8>) -> Vec<u8> {
        match join {
            Join::Watch => self.on_watched(token, &whole),
            Join::Exec => self.on_executed(token, whole),
            Join::Saved { in_background } => self.on_saved(in_background, whole),
            Join::Killed => Self::old_kill_reply(&whole),
            _ => whole,
        }
    }

    /// `WAIT`: what was acknowledged is in every in-sync replica already, and replies come in order; so there is
    /// something to wait for only where there are fewer of them than asked for.
    pub(super) fn wait(&mut self, id: ConnectionId, args: &Args<'_>) {
        let wait = match WaitArgs::parse(*args) {
            Ok(wait) => wait,
            Err(error) => return self.reply(id, |reply| reply.error_bytes(error.as_bytes())),
        };
        let session = &self.connections[id.0 as usize].session;
        let (table, protocol) = (session.table, session.protocol);
        let backups = self.backups(table);
        if wait.replicas <= backups {
            return self.reply(id, |reply| reply.integer(backups));
        }
        let hole = self
            .open_gather(id, Gather::new(Join::Only, protocol, 1))
            .hole;
        let until = (wait.timeout_ms > 0)
            .then(|| self.core.now + std::time::Duration::from_millis(wait.timeout_ms));
        self.connections[id.0 as usize].blocked = Some(Blocked::Wait { until, hole });
    }

    /// How many replicas beside the primary have whatever was acknowledged in the table.
    pub(crate) fn backups(&self, table: usize) -> i64 {
        self.core.table(table).map_or(0, TableState::backups_min)
    }
}

fn check(spec: &Spec, args: Args<'_>) -> Result<(), ErrorReply> {
    match spec.id {
        CommandId::Scan => ScanArgs::parse(args).map(|_| ()),
        CommandId::Flushdb | CommandId::Flushall => parse_flush(args).map(|_| ()),
        _ => Ok(()),
    }
}

fn is_there(found: &Found<'_>, now: UnixMillis) -> bool {
    found.expires_at.is_none_or(|at| at >= now)
}

impl Core {
    /// All bricks that are primary for something of a table, or of any.
    fn primaries(&self, table: Option<usize>) -> Vec<Member> {
        let states = self.tables.iter().flatten();
        let only = table.and_then(|table| self.table(table)).map(|it| it.id);
        let states = states.filter(|state| only.is_none_or(|only| only == state.id));
        let mut members: Vec<Member> = states
            .flat_map(|state| state.map.groups())
            .map(|group| group.primary.member)
            .collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// The tables that a command is about.
    fn tables_of(&self, spec: &Spec, args: Args<'_>, table: usize) -> Vec<usize> {
        if spec.id != CommandId::Flushall {
            return vec![table];
        }
        let names = args
            .from(1)
            .filter_map(|name| std::str::from_utf8(name).ok());
        let tables = names.filter_map(|name| self.table_by_name.get(name));
        tables.copied().collect()
    }

    /// Names a brick's share of a command on a whole table: the partitions of which it is the primary, going by
    /// the catalog here. Never 0.
    ///
    /// Two bricks with different catalogs would leave a partition out, or count it twice.
    pub(crate) fn share(&self, spec: &Spec, args: Args<'_>, table: usize, brick: Member) -> u64 {
        let mut sum = Random::new(0).next();
        for state in self.shared_leaves(spec, args, table, brick) {
            let (partition, ..) = state;
            sum = Random::new(sum ^ u64::from(partition.0)).next();
        }
        sum | 1
    }

    /// Partitions, with table and leaf, of which a brick is the primary, going by the catalog.
    fn shared_leaves(
        &self,
        spec: &Spec,
        args: Args<'_>,
        table: usize,
        brick: Member,
    ) -> Vec<(PartitionId, usize, usize)> {
        let mut all = Vec::new();
        let scanned = match spec.id {
            CommandId::Scan => Some(ScanArgs::parse(args).map_or(0, |scan| scan.cursor)),
            _ => None,
        };
        for table in self.tables_of(spec, args, table) {
            let Some(state) = self.table(table) else {
                continue;
            };
            let leaves = state
                .map
                .partitions()
                .leaves()
                .iter()
                .zip(state.map.groups());
            let only = scanned.map(|at| state.map.partitions().resume(Cursor::decode(at)).leaf);
            for (leaf, (place, group)) in leaves.enumerate() {
                if group.primary.member == brick && only.is_none_or(|only| only == leaf) {
                    all.push((place.partition, table, leaf));
                }
            }
        }
        all
    }

    /// Why this brick's share of a command on a whole table cannot be had now.
    fn cannot_share(
        &self,
        spec: &Spec,
        args: Args<'_>,
        share: u64,
        table: usize,
    ) -> Option<ErrorReply> {
        if matches!(
            spec.id,
            CommandId::ClientList | CommandId::ClientKill | CommandId::Watch
        ) {
            return None;
        }
        let writes = matches!(spec.id, CommandId::Flushdb | CommandId::Flushall);
        let me = self.member();
        let mut leaves = self.shared_leaves(spec, args, table, me).into_iter();
        let are_well = leaves.all(|(_, table, leaf)| {
            let state = self.table(table);
            let partition = state.and_then(|it| it.partitions.get(leaf)?.as_ref());
            partition.is_some_and(|it| {
                let may = if writes {
                    it.status.accepts_writes
                } else {
                    it.status.serves_reads
                };
                // What was given up waits for nobody, and its outcome is not known all the same.
                let is_known =
                    it.op <= it.committed || !it.is_replicated || !self.log.is_given_up(it.id);
                it.is_primary() && may && is_known
            })
        });
        let is_same = share == 0 || share == self.share(spec, args, table, me);
        let serves =
            self.replicas.is_leased && are_well && is_same && !(writes && self.is_adopting());
        (!serves).then(|| {
            ErrorReply::new(format!(
                "CLUSTERDOWN brick {me} cannot serve its share now: a view is changing, or its node has lost the \
                 control plane; it did nothing, try again"
            ))
        })
    }

    /// Calls `visit` with each key of a table on this brick.
    fn each_key(
        &self,
        table: usize,
        leaves: impl Iterator<Item = usize>,
        mut visit: impl FnMut(&TableMap, &[u8]),
    ) {
        let Some(state) = self.table(table) else {
            return;
        };
        for leaf in leaves {
            let Some(Some(partition)) = state.partitions.get(leaf) else {
                continue;
            };
            let serves = partition.is_primary() || partition.status.serves_reads;
            if partition.clear.is_some() || !serves {
                continue;
            }
            state.table.scan(
                partition.local,
                ScanPosition::START,
                usize::MAX,
                |key, found| {
                    if is_there(&found, self.unix) {
                        visit(&state.map, key);
                    }
                },
            );
        }
    }

    fn keys(&self, table: usize, pattern: &[u8], reply: &mut Reply<'_>) {
        let Some(state) = self.table(table) else {
            return reply.array(0);
        };
        let bytes_max = Settings::load(&self.shared.settings.output_bytes_max);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut bytes = 0;
        self.each_key(table, state.leaves(), |_, key| {
            if bytes <= bytes_max && glob::matches(pattern, key, false) {
                bytes += (key.len() + BULK_BYTES) as u64;
                found.push(key.to_vec());
            }
        });
        if bytes > bytes_max {
            return reply.error_bytes(REPLY_TOO_LONG.as_bytes());
        }
        reply.array(found.len());
        for key in found {
            reply.bulk(&key);
        }
    }

    fn random_key(&mut self, table: usize, reply: &mut Reply<'_>) -> Gate {
        const TRIES: usize = 100;
        for _ in 0..TRIES {
            let draw = self.random.next();
            let Some(state) = self.table(table) else {
                break;
            };
            let Some((_, key, found)) = state.table.random(draw) else {
                break;
            };
            // Of others' partitions this brick does not know what is there now.
            let leaf = state.map.locate(key).leaf as usize;
            let own = state.partitions.get(leaf).and_then(Option::as_ref);
            let is_own = own.is_some_and(|it| it.is_primary() && it.clear.is_none());
            if is_own && is_there(&found, self.unix) {
                reply.bulk(key);
                return Gate::OPEN;
            }
        }
        reply.null();
        Gate::OPEN
    }

    fn scan(&self, table: usize, args: Args<'_>, reply: &mut Reply<'_>) {
        let (Ok(scan), Some(state)) = (ScanArgs::parse(args), self.table(table)) else {
            return reply.error("ERR the scan cannot go on; begin again at 0");
        };
        let partitions = state.map.partitions();
        let mut cursor = Some(Cursor::decode(scan.cursor));
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut seen = 0;
        let count = usize::try_from(scan.count).unwrap_or(usize::MAX);
        let mut bytes = 0;
        while let Some(at) = cursor
            && seen < count
            && bytes < SCAN_BYTES_MAX
        {
            let point = partitions.resume(at);
            let own = state.partitions.get(point.leaf).and_then(Option::as_ref);
            let Some(partition) = own.filter(|partition| partition.is_primary()) else {
                if seen == 0 && !state.leaves().any(|leaf| leaf > point.leaf) {
                    // A brick port scans its own partitions alone.
                    cursor = None;
                    break;
                }
                if seen > 0 {
                    // The rest is another brick's: the next call goes on there.
                    break;
                }
                cursor = partitions.advance(point.leaf, None);
                continue;
            };
            let from = ScanPosition(point.progress);
            let next = state.table.scan(
                partition.local,
                from,
                (count - seen).min(SCAN_STEP),
                |key, it| {
                    seen += 1;
                    let is_wanted = is_there(&it, self.unix)
                        && partition.clear.is_none()
                        && scan.wants(key)
                        && scan.wants_strings();
                    if is_wanted {
                        bytes += key.len() + BULK_BYTES;
                        found.push(key.to_vec());
                    }
                },
            );
            // Empty partitions cost a step too, or a sparse table would be scanned in one call.
            seen += 1;
            cursor = partitions.advance(point.leaf, next.map(|position| position.0));
        }
        reply.array(2);
        reply.bulk(cursor.map_or(0, Cursor::encode).to_string().as_bytes());
        reply.array(found.len());
        for key in found {
            reply.bulk(&key);
        }
    }

    /// Clears every partition of tables that this brick has.
    pub(crate) fn flush(&mut self, tables: &[usize], reply: &mut Reply<'_>) -> Gate {
        let mut gate = Gate::OPEN;
        for &table in tables {
            let leaves: Vec<usize> = self
                .table(table)
                .map_or(Vec::new(), |it| it.leaves().collect());
            for leaf in leaves {
                gate = gate.and(self.clear_partition(table, leaf));
            }
        }
        reply.ok();
        gate
    }

    fn clear_partition(&mut self, table: usize, leaf: usize) -> Gate {
        let Some(Some(state)) = self.tables.get_mut(table) else {
            return Gate::OPEN;
        };
        let Some(Some(partition)) = state.partitions.get(leaf) else {
            return Gate::OPEN;
        };
        let commits = state.commits(partition);
        let Some(Some(partition)) = state.partitions.get_mut(leaf) else {
            return Gate::OPEN;
        };
        let is_untouched = partition.op.0 == 0;
        if is_untouched {
            return Gate::OPEN;
        }
        partition.op = partition.op.next();
        let (op, local) = (partition.op, partition.local);
        self.note_clear(table, leaf);
        let Some(commits) = commits else {
            if let Some(Some(state)) = self.tables.get_mut(table) {
                state.table.clear(local, op);
            }
            self.has_buried = true;
            return Gate::OPEN;
        };
        let Some(header) = self.header(table, leaf, Kind::Clear, op) else {
            return Gate::OPEN;
        };
        let key = KeyRef {
            table: table as u32,
            partition: local,
            hash: KeyHash(0),
        };
        let held = self.log.prepare_clear(key, &header, commits);
        self.hand_over(header.partition, held);
        let gate = self.log.gate(commits);
        if let Some(Some(state)) = self.tables.get_mut(table)
            && let Some(Some(partition)) = state.partitions.get_mut(leaf)
        {
            partition.clear = Some(PendingClear { op, gate });
        }
        gate
    }

    /// What watched keys are, one a line.
    fn versions(&mut self, table: usize, args: Args<'_>, out: &mut Vec<u8>) -> Gate {
        use crate::log::Writer;
        use crate::view::{Asker, View};
        let Some(first) = args.get(1) else {
            return Gate::OPEN;
        };
        let Some(location) = self.locate(table, first) else {
            return Gate::OPEN;
        };
        let asker = Asker {
            writer: Writer::MANY,
            reads_only: false,
            writes_many: false,
        };
        let mut view = View::new(self, table, asker, (first, location), &[]);
        let versions: Result<Vec<Option<Op>>, ErrorReply> =
            args.from(1).map(|key| view.version(key)).collect();
        // What is found expired is removed by this: only then are those that do not exist noted.
        let gate = view.abandon().gate;
        match versions {
            Ok(versions) => {
                for (key, op) in args.from(1).zip(versions) {
                    let version = match op {
                        Some(op) => Version::Written(op),
                        None => self.watch_absent(table, key),
                    };
                    out.extend_from_slice(version.line().as_bytes());
                }
            }
            Err(error) => *out = crate::keyed::error_line(&error),
        }
        gate
    }

    fn watch_absent(&mut self, table: usize, name: &[u8]) -> Version {
        let Some(location) = self.locate(table, name) else {
            return Version::Unknown;
        };
        let state = self.table(table);
        let Some(Some(partition)) = state.and_then(|it| it.partitions.get(location.leaf as usize))
        else {
            return Version::Unknown;
        };
        let (view, local) = (partition.view, partition.local);
        let key = KeyRef {
            table: table as u32,
            partition: local,
            hash: KeyHash(location.key_hash),
        };
        Version::Absent(self.absences.watch(key, name, view, self.now))
    }

    /// `CLUSTER COUNTKEYSINSLOT` and `CLUSTER GETKEYSINSLOT`.
    fn slot_share(&self, spec: &Spec, args: Args<'_>, table: usize, reply: &mut Reply<'_>) {
        match ClusterCommand::parse(spec.id, args) {
            Ok(ClusterCommand::CountKeysInSlot(slot)) => {
                reply.integer(self.keys_in_slot(table, slot, 0).1 as i64);
            }
            Ok(ClusterCommand::GetKeysInSlot(slot, max)) => {
                let (keys, _) = self.keys_in_slot(table, slot, max);
                reply.array(keys.len());
                for key in &keys {
                    reply.bulk(key);
                }
            }
            _ => reply.error("ERR this command has no share of a brick"),
        }
    }

    /// The keys of a slot on this brick, at most `max` of them; and how many there are.
    pub(crate) fn keys_in_slot(
        &self,
        table: usize,
        slot: Slot,
        max: usize,
    ) -> (Vec<Vec<u8>>, usize) {
        let mut found = Vec::new();
        let mut count = 0;
        let Some(state) = self.table(table) else {
            return (found, 0);
        };
        let leaves = state.map.partitions().leaves().iter().enumerate();
        let leaves = leaves
            .filter(|(_, leaf)| leaf.prefix.slots().contains(slot))
            .map(|(at, _)| at);
        self.each_key(table, leaves, |map, key| {
            if map.hasher().slot(key) == slot {
                count += 1;
                if found.len() < max {
                    found.push(key.to_vec());
                }
            }
        });
        (found, count)
    }
}
