import { mailOnAbsentDisks, unstoredSegments } from '../../areas/email/index.ts';
import type { Config } from '../../kernel/config.ts';
import type { Db } from '../../kernel/db/index.ts';
import { type Finding, ok, warn } from './finding.ts';

/** With S3 a segment is uploaded within two seconds: one that is older waits for a storage that is away. */
const uploadedWithinSeconds = 30;

export interface HeldMail {
  hasS3: boolean;
  unstored: { node: string; segments: number; seconds: number }[];
  away: { node: string; recipients: number; arrivals: number; seen_at: string; gone_at: string }[];
}

/** Mail whose bytes one disk alone has. */
export function judgeHeldMail({ hasS3, unstored, away }: HeldMail): Finding[] {
  const found: Finding[] = [];
  for (const { node, recipients, arrivals, seen_at, gone_at } of away)
    found.push(
      warn(
        'mail on one disk',
        `mail to ${recipients} recipients and ${arrivals} messages that arrived are only in the data directory ${node}, whose server was last seen at ${seen_at}; start a server on it before ${gone_at}, when they are given up and their senders are told`,
      ),
    );
  if (hasS3)
    for (const { node, segments, seconds } of unstored)
      if (seconds > uploadedWithinSeconds)
        found.push(
          warn(
            'mail on one disk',
            `${segments} segments of mail are only in the data directory ${node}, the oldest for ${Math.round(seconds)} s; check the storage, and that a server runs on that directory`,
          ),
        );
  if (found.length) return found;
  return [
    ok(
      'mail on one disk',
      hasS3
        ? 'accepted mail reaches S3 within two seconds; until then, and for as long as S3 is away, it is on the disk of the server that took it'
        : 'mail is in the data directory until it is sent, and its content for 30 days; set QUARTERDECK_STORAGE to keep it in S3 as well',
    ),
  ];
}

export const checkHeldMail = (db: Db, config: Config): Promise<Finding[]> =>
  db.read(async (tx) => {
    const byNode = Map.groupBy(await mailOnAbsentDisks(tx), ({ node }) => node);
    const away = [...byNode.values()].map((orgs) => ({
      ...orgs[0]!,
      recipients: orgs.reduce((sum, { recipients }) => sum + recipients, 0),
      arrivals: orgs.reduce((sum, { arrivals }) => sum + arrivals, 0),
    }));
    return judgeHeldMail({ hasS3: Boolean(config.storage), unstored: await unstoredSegments(tx), away });
  });
