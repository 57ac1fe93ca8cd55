import type { IncomingMessage } from 'node:http';
import { chunksOfBody } from '../../../../kernel/http/body.ts';
import type { WriteLease } from '../../engine/push/leases.ts';
import { receiveBytes } from '../../engine/push/uploads.ts';
import { may } from '../../rules/access.ts';
import type { UploadRow } from '../../store/uploads.ts';
import type { Call, Place } from './call.ts';
import { OciError } from './errors.ts';
import { watchAccess } from './watch.ts';

/** What is known of the bytes to come. */
interface Coming {
  offset: number;
  /** They are all of a content that is here already, and has so many. */
  held?: number | undefined;
  /** The right to write to the upload; none where nobody else knows of it. */
  lease?: WriteLease | undefined;
}

/** Takes the request's bytes into an upload. Returns the new offset. */
export async function receive(call: Call, place: Place, upload: UploadRow, { offset, held, lease }: Coming): Promise<number> {
  const { plane, request } = call;
  const incoming = { body: watched(call, place), offset, declared: contentLength(request), held, mayWrite: lease?.mayWrite };
  const reached = await receiveBytes(plane, plane.hashes, upload, incoming);
  plane.metrics.bytes.series(place.slug, 'in').count(reached - offset);
  return reached;
}

export function contentLength(request: IncomingMessage): number | undefined {
  const given = request.headers['content-length'];
  return given === undefined ? undefined : Number(given);
}

/** The request's bytes while they move, and while whoever sends them may. Each chunk is good until the next one is asked for. */
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
  request.setTimeout(plane.settings.idleMs, () => request.destroy());
  try {
    // Whoever is refused in the middle is still told why: the connection outlives our reading.
    for await (const chunk of chunksOfBody(request)) {
      const rest = plane.app.watch.takeTurn();
      if (rest) await rest;
      yield chunk;
    }
  } catch (error) {
    if (revoked) throw new OciError('UNAUTHORIZED', 'the credential was revoked while it pushed', { cause: error });
    throw new OciError('BLOB_UPLOAD_INVALID', 'the body was cut off; ask how much arrived and go on from there', { cause: error });
  } finally {
    unwatch();
    request.setTimeout(0);
  }
}
