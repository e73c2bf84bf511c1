// SPDX-License-Identifier: Apache-2.0
// The compiled parts of Asio and Beast: everything else sees declarations only.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
