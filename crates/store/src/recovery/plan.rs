//! What files there are, and which of the segments are sealed. Reads headers and footers; changes
//! nothing.

use crate::config::LogConfig;
use crate::disk::{Access, Disk, DiskFile};
use crate::error::StoreError;
use crate::file_name;
use crate::segment::footer::{self, FooterState};
use crate::segment::header::{HeaderError, SEGMENT_HEADER_BYTES, SegmentHeader};
use brickyard_types::SegmentId;
use std::collections::BTreeSet;

/// A brick's directory at a glance.
pub(crate) struct Plan {
    /// Ascending by id.
    pub(crate) segments: Vec<Planned>,
    /// Half-written files, and hint files without a segment.
    pub(crate) leftovers: Vec<String>,
    /// A sync failed before the last stop.
    pub(crate) is_unsure: bool,
}

/// One segment.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) id: SegmentId,
    pub(crate) file_len: u64,
    pub(crate) header: Result<SegmentHeader, HeaderError>,
    pub(crate) footer: FooterState,
    /// It was sealed once, whatever its footer looks like now: it or a later one has a sound footer.
    pub(crate) is_sealed: bool,
    pub(crate) has_hint: bool,
}

impl Plan {
    /// With `config` also checks that the segments are this log's.
    pub(crate) fn read<D: Disk>(disk: &D, config: Option<&LogConfig>) -> Result<Self, StoreError> {
        let names = disk
            .list()
            .map_err(StoreError::io("list", disk.describe("")))?;
        let ids: BTreeSet<_> = names
            .iter()
            .filter_map(|name| file_name::parse_segment(name))
            .collect();
        let mut segments = Vec::with_capacity(ids.len());
        for id in &ids {
            segments.push(Planned::read(disk, *id, config)?);
        }
        assert!(
            segments.windows(2).all(|pair| pair[0].id < pair[1].id),
            "segments are in the order of their ids"
        );
        let mut is_sealed = false;
        for planned in segments.iter_mut().rev() {
            is_sealed |= matches!(planned.footer, FooterState::Sound(_));
            planned.is_sealed = is_sealed;
        }
        let mut leftovers = Vec::new();
        for name in &names {
            let hint = file_name::parse_hint(name);
            if file_name::is_temporary(name) || hint.is_some_and(|id| !ids.contains(&id)) {
                leftovers.push(name.clone());
            } else if let Some(id) = hint
                && let Ok(index) = segments.binary_search_by_key(&id, |planned| planned.id)
            {
                segments[index].has_hint = true;
            }
        }
        Ok(Self {
            segments,
            leftovers,
            is_unsure: names.iter().any(|name| name == file_name::UNSURE),
        })
    }
}

impl Planned {
    fn read<D: Disk>(
        disk: &D,
        id: SegmentId,
        config: Option<&LogConfig>,
    ) -> Result<Self, StoreError> {
        let describe = || disk.describe(&file_name::segment(id));
        let (file, file_len) = open_segment(disk, id, Access::Read)?;
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let got = file
            .read_full_at(&mut bytes, 0)
            .map_err(StoreError::io("read", describe()))?;
        let header = SegmentHeader::decode(&bytes[..got]);
        if let Err(HeaderError::OtherFormat { found }) = header {
            return Err(StoreError::OtherFormat {
                file: describe(),
                found,
            });
        }
        if let Ok(header) = header {
            let (directory, brick) = config.map_or((header.directory, header.brick), |config| {
                (config.directory, config.brick)
            });
            let expected = (directory, brick, id);
            let found = (header.directory, header.brick, header.segment);
            if found != expected {
                return Err(StoreError::Foreign {
                    file: describe(),
                    found,
                    expected,
                });
            }
        }
        let footer =
            footer::read(&file, id, file_len).map_err(StoreError::io("read", describe()))?;
        Ok(Self {
            id,
            file_len,
            header,
            footer,
            is_sealed: false,
            has_hint: false,
        })
    }
}

/// Opens a segment's file, for messages that name it.
pub(crate) fn open_segment<D: Disk>(
    disk: &D,
    id: SegmentId,
    access: Access,
) -> Result<(D::File, u64), StoreError> {
    let name = file_name::segment(id);
    let file = disk
        .open(&name, access)
        .map_err(StoreError::io("open", disk.describe(&name)))?;
    let len = file.byte_len().map_err(StoreError::io(
        "ask for the length of",
        disk.describe(&name),
    ))?;
    Ok((file, len))
}
