// A doubly linked list through the members `prev` and `next` of its elements. Owns nothing; an
// element is in one list at most.
#ifndef VRAMSPAN_RUNTIME_SPACE_INTRUSIVE_LIST_H_
#define VRAMSPAN_RUNTIME_SPACE_INTRUSIVE_LIST_H_

namespace vramspan {

template <typename T>
class IntrusiveList {
 public:
  T* front() const { return front_; }

  void PushFront(T* element) {
    element->prev = nullptr;
    element->next = front_;
    if (front_ != nullptr) front_->prev = element;
    front_ = element;
  }

  void Remove(T* element) {
    (element->prev != nullptr ? element->prev->next : front_) = element->next;
    if (element->next != nullptr) element->next->prev = element->prev;
    element->prev = element->next = nullptr;
  }

 private:
  T* front_ = nullptr;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_INTRUSIVE_LIST_H_
