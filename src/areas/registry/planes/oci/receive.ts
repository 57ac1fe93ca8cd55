import type { IncomingMessage } from 'node:http';
import type { Access } from '../../access.ts';
import { reserve } from '../../quota.ts';
import { addReservation, keepUpload, type UploadRow } from '../../store/uploads.ts';
import { settingsOf } from '../../settings.ts';
import type { Call } from './call.ts';
import { OciError } from './errors.ts';

const MiB = 1024 * 1024;
/** Below this a reservation costs more than it saves: the commit still refuses what does not fit. */
const free = MiB;
/** A sender that does not say how much is coming gets room in steps. */
const step = 64 * MiB;

/** Takes a body's bytes into an upload at `offset`, hashing them and reserving room as they come. Returns the new offset. */
export async function receive(call: Call, upload: UploadRow, offset: number, rowless = false): Promise<number> {
  const { plane, request } = call;
  const declared = contentLength(request);
  let room = upload.reserved - offset;
  const makeRoom = async (least: number, wanted: number) => {
    if (rowless) return;
    await plane.app.db.write(async (tx) => {
      await keepUpload(tx, upload.id, settingsOf(plane.app).uploadSeconds);
      // The grant is booked on the upload first; the registry's row is locked last.
      const granted = await grantTo(tx, upload, wanted, least);
      room += granted;
      upload.reserved += granted;
    });
  };
  if (declared !== undefined && declared > free && declared > room) await makeRoom(declared - room, declared - room);

  async function* metered(): AsyncGenerator<Buffer> {
    let arrived = 0;
    for await (const chunk of watched(call)) {
      arrived += chunk.length;
      const least = arrived - Math.max(room, free);
      if (least > 0 && (declared === undefined || rowless)) await makeRoom(least, step);
      yield chunk;
    }
  }
  const end = await plane.app.storage.append(upload.id, offset, plane.hashes.through(upload.id, offset, metered()));
  plane.metrics.bytes.inc({ registry: upload.registry_id, direction: 'in' }, end - offset);
  return end;
}

async function grantTo(tx: Parameters<typeof reserve>[0], upload: UploadRow, wanted: number, least: number): Promise<number> {
  const granted = await reserve(tx, upload.registry_id, wanted, least);
  await addReservation(tx, upload.id, granted);
  return granted;
}

export function contentLength(request: IncomingMessage): number | undefined {
  const given = request.headers['content-length'];
  return given === undefined ? undefined : Number(given);
}

/** The request's bytes while they move, and while whoever sends them may. */
async function* watched({ plane, request, access }: Call): AsyncGenerator<Buffer> {
  let revoked = false;
  const watch = (current: Access) => {
    const ask = async () => {
      const now = await (current as Access & { again?: () => Access | undefined | Promise<Access | undefined> }).again?.() ?? (await plane.authenticate(request));
      if (now) watch(now);
      else {
        revoked = true;
        request.destroy();
      }
    };
    current.signal.addEventListener('abort', () => void ask().catch(() => request.destroy()), { once: true, signal: over.signal });
  };
  const over = new AbortController();
  watch(access);
  request.setTimeout(plane.idleMs(), () => request.destroy());
  try {
    for await (const chunk of request) yield chunk;
  } catch (error) {
    if (revoked) throw new OciError('UNAUTHORIZED', 'the credential was revoked while it pushed', { cause: error });
    throw new OciError('BLOB_UPLOAD_INVALID', 'the body was cut off; ask how much arrived and go on from there', { cause: error });
  } finally {
    over.abort();
    request.setTimeout(0);
  }
}
