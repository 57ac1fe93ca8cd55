import type { IncomingMessage } from 'node:http';
import type { Tx } from '../../../../kernel/db.ts';
import { UploadUnknown } from '../../../../kernel/storage/index.ts';
import { may } from '../../rules/access.ts';
import { withRoom } from '../../engine/gc/evict.ts';
import { reserve } from '../../engine/quota.ts';
import { settingsOf } from '../../engine/settings.ts';
import { addReservation, keepUpload, type UploadRow } from '../../store/uploads.ts';
import type { Call, Place } from './call.ts';
import { OciError } from './errors.ts';
import { patiently } from '../../engine/push/patience.ts';
import { watchAccess } from './watch.ts';

const MiB = 1024 * 1024;
/** An upload up to here is not worth a reservation: the commit still refuses what does not fit. */
const free = MiB;
/** A sender that does not say how much is coming gets room in steps. */
const step = 64 * MiB;

/** Takes a body's bytes into an upload at `offset`, hashing them and reserving room as they come. Returns the new offset. */
export async function receive(
  call: Call,
  place: Place,
  upload: UploadRow,
  offset: number,
  options: { held?: number } = {},
): Promise<number> {
  const { plane, request } = call;
  const declared = contentLength(request);
  // What the registry holds already takes no room in it; but only as much as that has.
  const room = () => Math.max(free, options.held ?? 0, upload.reserved);
  const { uploadSeconds } = settingsOf(plane.app);
  const keepMs = Math.min(60, uploadSeconds / 3) * 1000;
  let kept = performance.now();
  // Gone with its repository, or expired: nobody would go on with it, nor give back what is reserved for it now.
  const keep = async (tx: Tx) => {
    if (!(await keepUpload(tx, upload.id, uploadSeconds))) throw new UploadUnknown();
    kept = performance.now();
  };
  const makeRoom = async (least: number, wanted: number) => {
    const granted = await withRoom(plane.app, upload.registry_id, () =>
      patiently(() =>
        plane.app.db.write(async (tx) => {
          await keep(tx);
          const bytes = await reserve(tx, upload.registry_id, wanted, least);
          await addReservation(tx, upload.id, bytes);
          return bytes;
        }),
      ),
    );
    upload.reserved += granted;
  };
  const end = offset + (declared ?? 0);
  if (end > room()) await makeRoom(end - upload.reserved, end - upload.reserved);

  async function* metered(): AsyncGenerator<Buffer> {
    let at = offset;
    for await (const chunk of watched(call, place)) {
      at += chunk.length;
      if (declared === undefined && at > room()) await makeRoom(at - room(), step);
      // However long this one request takes: another server would expire it under our hands.
      if (performance.now() - kept > keepMs) await patiently(() => plane.app.db.read(keep));
      yield chunk;
    }
  }
  const reached = await plane.app.storage.append(upload.id, offset, plane.hashes.through(upload.id, offset, metered()));
  plane.metrics.bytes.inc({ registry: place.slug, direction: 'in' }, reached - offset);
  return reached;
}

export function contentLength(request: IncomingMessage): number | undefined {
  const given = request.headers['content-length'];
  return given === undefined ? undefined : Number(given);
}

/** The request's bytes while they move, and while whoever sends them may. */
async function* watched(call: Call, place: Place): AsyncGenerator<Buffer> {
  const { plane, request } = call;
  let revoked = false;
  const unwatch = watchAccess(
    call,
    (access) => may({ ...access, scopes: undefined }, place.slug, place.repository, 'push'),
    () => {
      revoked = true;
      request.destroy();
    },
  );
  request.setTimeout(plane.idleMs(), () => request.destroy());
  try {
    for await (const chunk of request) yield chunk;
  } catch (error) {
    if (revoked) throw new OciError('UNAUTHORIZED', 'the credential was revoked while it pushed', { cause: error });
    throw new OciError('BLOB_UPLOAD_INVALID', 'the body was cut off; ask how much arrived and go on from there', { cause: error });
  } finally {
    unwatch();
    request.setTimeout(0);
  }
}
