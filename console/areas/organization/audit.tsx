import { ThingList } from '../../ui/thing-list.tsx';

/** Every change appears here, with who made it. */
export default function Audit() {
  return <ThingList title="Audit log" operation="listAudit" about="Every change appears here, with who made it." />;
}
