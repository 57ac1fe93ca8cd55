import { ThingList } from '../../ui/thing-list.tsx';

/** Mail that was sent or received appears here. */
export default function Messages() {
  return (
    <ThingList
      title="Messages"
      operation="listMessages"
      to={({ id }) => `/email/messages/${String(id)}`}
      about="Mail that was sent or received appears here."
    />
  );
}
